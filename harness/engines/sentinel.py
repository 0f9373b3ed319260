"""Redis servers that Sentinel watches, and the sentinels: what both are configured with.

All of them know each server by a name that leads to a proxy, over which the others reach it. Both keep
their configuration in a file, because Sentinel changes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.network.sentinel_server import SERVERS, announced
from harness.network.systems import SYSTEMS
from harness.network.topology import SENTINEL, ServerSpec, Topology
from workloads.settings import SENTINEL_SERVICE

DOWN_AFTER = 5_000  # ms without an answer, after which a sentinel takes a server for down
FAILOVER_TIMEOUT = 5_000  # ms; a failover without a leader, after a tied vote, begins again after twice that
QUORUM = 2
START = """\
test -e /data/{file} || {{ {wait}printf '%s\\n' "$$@" > /data/{file}; }}
exec $$(command -v docker-entrypoint.sh) redis-server /data/{file} {option}
"""  # compose reads $$ as $; the official images start as root, and become another user in that script
# A sentinel that starts before the replicas follow the primary learns of them ten seconds later.
REPLICAS_FOLLOW = """\
until redis-cli -h {host} -p {port} info replication | grep -q connected_slaves:{replicas}
do sleep 0.1; done; """


def services(topology: Topology, toxiproxy: str, ports: Mapping[str, int]) -> Mapping[str, Mapping[str, Any]]:
    """Return what the override file adds to services.

    `ports` are Toxiproxy's, by the server to which they lead.
    """
    servers = [spec for spec in topology.servers if spec.manager == SENTINEL]
    if not servers:
        return {}
    first, *_ = servers
    wait = REPLICAS_FOLLOW.format(host=announced(first.name), port=ports[first.name], replicas=SERVERS - 1)
    commands = {spec.name: _command("redis.conf", _server(spec, ports)) for spec in servers} | {
        spec.name: _command("sentinel.conf", _sentinel(first.name, ports), wait, "--sentinel")
        for spec in topology.servers
        if spec.system == SENTINEL
    }
    aliases = [announced(spec.name) for spec in servers]
    return {
        toxiproxy: {"networks": {"default": {"aliases": aliases}}},
        **{name: {"command": command} for name, command in commands.items()},
    }


def _command(file: str, lines: Iterator[str], wait: str = "", option: str = "") -> Sequence[str]:
    return ["sh", "-c", START.format(file=file, wait=wait, option=option), file, *lines]


def _server(spec: ServerSpec, ports: Mapping[str, int]) -> Iterator[str]:
    """Yield the configuration of a server of Redis; see compose/redis.yaml."""
    yield from ("bind 0.0.0.0", "protected-mode no", "dir /data", 'save ""', "appendfsync always")
    yield f"appendonly {'yes' if spec.durable else 'no'}"
    yield "repl-diskless-sync-delay 0"
    yield f"min-replicas-to-write {spec.min_replicas}"
    yield "min-replicas-max-lag 1"
    yield f"replica-announce-ip {announced(spec.name)}"
    yield f"replica-announce-port {ports[spec.name]}"
    if spec.follows:
        yield f"replicaof {announced(spec.follows)} {ports[spec.follows]}"


def _sentinel(primary: str, ports: Mapping[str, int]) -> Iterator[str]:
    """Yield the configuration of a sentinel."""
    yield from (f"port {SYSTEMS[SENTINEL].port}", "protected-mode no", "dir /data")
    yield from ("sentinel resolve-hostnames yes", "sentinel announce-hostnames yes")
    yield f"sentinel monitor {SENTINEL_SERVICE} {announced(primary)} {ports[primary]} {QUORUM}"
    yield f"sentinel down-after-milliseconds {SENTINEL_SERVICE} {DOWN_AFTER}"
    yield f"sentinel failover-timeout {SENTINEL_SERVICE} {FAILOVER_TIMEOUT}"
