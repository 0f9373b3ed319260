"""The servers that a run starts on Docker, as package data.

There is one compose file per system (`etcd.yaml`), and the sources of its image
(`images/etcd/Dockerfile`). `importlib.resources.files("compose")` finds them, also in a
wheel. The files are brought up together, under one project name.

They read these environment variables, each with a default for use by hand:

- `FENCEPOST_RUN`, `FENCEPOST_HARNESS`: the labels `fencepost` and `fencepost.harness` of
  everything that a run starts, by which a later command finds leftovers.
- `FENCEPOST_ETCD_CLUSTER`: the members, in the format of etcd's `--initial-cluster`.
- `FENCEPOST_REDIS_PRIMARY`, `FENCEPOST_POSTGRES_PRIMARY`, each also with `_PORT`: where a replica
  reaches its primary.
- `FENCEPOST_ETCD_IMAGE`, `FENCEPOST_POSTGRES_IMAGE`, `FENCEPOST_TOXIPROXY_IMAGE`: an
  official image instead of ours.
"""
