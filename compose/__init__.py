"""The servers that a run starts on Docker, as data of the package.

One compose file a system (`etcd.yaml`), and what its image is built from
(`images/etcd/Dockerfile`): found through `importlib.resources.files("compose")`, so they
are there in a wheel too. The files are brought up together, under one project name.

What the files read from the environment, each with a default that works by hand:

- `FENCEPOST_RUN`, `FENCEPOST_HARNESS`: the labels `fencepost` and `fencepost.harness` of
  all that is started, by which a later command finds what an interrupted run left.
- `FENCEPOST_ETCD_CLUSTER`: the members, as etcd's `--initial-cluster` names them.
- `FENCEPOST_ETCD_IMAGE`, `FENCEPOST_POSTGRES_IMAGE`, `FENCEPOST_TOXIPROXY_IMAGE`: an
  official image instead of ours.
"""
