"""The same statements by the system's own tool, which runs next to the server: what the driver costs.

etcd: the txn-put of its own benchmark, as many transactions as a lock or a write takes. Redis:
redis-benchmark with the same scripts, and for Valkey valkey-benchmark. PostgreSQL: pgbench with the same
SQL and parameters; for the cost of a fence it draws one of the ways to write for each transaction, so that
noise cancels there too.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.bench.document import NativeDocument
from harness.bench.series import CLIENTS, PER_CYCLE, BenchSeries, RoundsSeries, fencings, write_apart
from harness.bench.worker import TOKEN
from harness.core.duration import NS
from harness.engines.built_images import our_image
from harness.engines.engine import Cluster
from harness.run import deployment
from harness.spec import Target
from harness.spec.attached import running_at
from harness.spec.redis_locks import RedisLockSection
from harness.spec.storages import RedisStorageSection
from workloads.locks.redis import GRANT
from workloads.storages import postgres, redis

POLICY = "inclusive"
ETCD = "3.5.16"
"""The release whose benchmark is built."""
COMMITTED_BY_ETCD = 3
"""The lease, the key and its deletion: what the members of etcd agree on for each lock."""
_PARAMETERS = {"$1": "('r' || :client_id::text)", "$2": ":token", "$3": ":value"}
_PGBENCH = re.compile(r"^ - latency average = ([0-9.]+) ms$", re.MULTILINE)
_TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_ETCD_RATE = re.compile(r"Requests/sec:\s+([0-9.]+)")
_ETCD_MEAN = re.compile(r"Average:\s+([0-9.]+) secs")
_MEAN = re.compile(r"^latency average = ([0-9.]+) ms$", re.MULTILINE)
_OnRedis = RedisLockSection | RedisStorageSection


def etcd_image() -> str:
    """Return the image of etcd's own benchmark."""
    return our_image("etcd-benchmark-release", ETCD)


def images(target: Target) -> list[str]:
    """Return the images of the tools that are next to no server already."""
    kinds = {*([] if running_at(target.lock) else [target.lock.kind])}
    kinds |= {*([] if running_at(deployment.storage_side(target)) else [target.storage.kind])}
    return [etcd_image()] if "etcd" in kinds else []


@dataclass(frozen=True, slots=True)
class NativeTools:
    """The tools next to the servers of a target."""

    target: Target
    cluster: Cluster

    def of_loads(self, seconds: float) -> Iterator[tuple[str, NativeDocument]]:
        """Yield what a tool measures for each load that it can put on a server, by the key of its series."""
        if isinstance(self.target.lock, RedisLockSection):
            for clients in CLIENTS:
                series = BenchSeries(operation="acquire", clients=clients, resources=clients)
                keys = ("native/__rand_int__/lock", "native/token")
                lease = str(self.target.lock.ttl // NS["ms"])
                words = ("-r", "1000000000", "eval", GRANT, "2", *keys, "owner", lease)
                if found := self._redis_benchmark(self.target.lock, clients, seconds, words):
                    yield series.key, found.shared_by(PER_CYCLE)
        if self.target.lock.kind == "etcd":
            for clients in CLIENTS:
                series = BenchSeries(operation="acquire", clients=clients, resources=clients)
                if found := self._txn_put(self.target.lock.servers[0], clients, seconds):
                    yield series.key, found.shared_by(COMMITTED_BY_ETCD)
        if self.target.storage.kind in _WRITES:
            for fencing in fencings(self.target):
                series = write_apart(self.target, fencing)
                if found := _WRITES[self.target.storage.kind](self, fencing, seconds):
                    yield series.key, found

    def of_rounds(self, series: RoundsSeries, seconds: float) -> Mapping[str, float]:
        """Return the mean latency (ms) of each fencing, all in turn; empty without such a tool."""
        if self.target.storage.kind != "postgres":
            return {}
        names = fencings(self.target)
        said = self._pgbench(names, series.clients, seconds)
        return dict(zip(names, map(float, _PGBENCH.findall(said)), strict=False)) if said else {}

    def write_to_redis(self, fencing: str, seconds: float) -> NativeDocument | None:
        """Write one hash by the same script."""
        stale = redis.NEVER if fencing == "none" else redis.STALE[POLICY]
        keys = (redis.key("r0"), redis.log_key())
        words = ("eval", redis.script(stale, logged=False), "2", *keys, str(TOKEN), "0", "r0")
        assert isinstance(self.target.storage, RedisStorageSection)  # noqa: S101 - so says _WRITES
        return self._redis_benchmark(self.target.storage, 8, seconds, words)

    def write_to_postgres(self, fencing: str, seconds: float) -> NativeDocument | None:
        """Update the rows of eight clients by the same SQL."""
        said = self._pgbench((fencing,), 8, seconds)
        rate, mean = _TPS.search(said or ""), _MEAN.search(said or "")
        if not (rate and mean):
            return None
        return NativeDocument(tool="pgbench", rate=float(rate[1]), mean=float(mean[1]))

    def write_to_etcd(self, _fencing: str, seconds: float) -> NativeDocument | None:
        """Put in a transaction."""
        return self._txn_put(self.target.storage_servers[0], 8, seconds)

    def _txn_put(self, server: str, clients: int, seconds: float) -> NativeDocument | None:
        size = (f"--clients={clients}", f"--conns={clients}", f"--total={round(1_000 * seconds)}")
        said = self.cluster.execute(server, ["benchmark", "txn-put", *size, "--val-size=17"], etcd_image())
        rate, mean = _ETCD_RATE.search(said or ""), _ETCD_MEAN.search(said or "")
        if not (rate and mean):
            return None
        return NativeDocument(tool="etcd's txn-put", rate=float(rate[1]), mean=1000 * float(mean[1]))

    def _redis_benchmark(
        self, side: _OnRedis, clients: int, seconds: float, words: Sequence[str]
    ) -> NativeDocument | None:
        tool, most = f"{side.flavour}-benchmark", round(10_000 * seconds)
        size = ("-c", str(clients), "-n", str(most))
        said = self.cluster.execute(side.servers[0], [tool, "--csv", *size, *words])
        # A name with line breaks and quotes, such as a script, is in the first field as it is.
        rows = list(csv.reader((said or "").splitlines()[-1:]))
        if not rows or len(rows[0]) < 3:  # noqa: PLR2004 - the name, the rate, the mean
            return None
        _, rate, mean, *_ = [*rows[0][-8:]]
        return NativeDocument(tool=tool, rate=float(rate), mean=float(mean))

    def _pgbench(self, names: Sequence[str], clients: int, seconds: float) -> str | None:
        files = [f"/tmp/{name}.sql" for name in names]  # noqa: S108 - in the container
        write = "".join(
            f"printf %s {shlex.quote(_sql(name))} > {file}; " for name, file in zip(names, files, strict=True)
        )
        drawn = " ".join(f"-f {file}@1" for file in files)
        run = (
            f"pgbench -n -M extended -h $(hostname -i) -U {postgres.OURS} -c {clients} -j {min(clients, 2)}"
            f" -T {max(1, round(seconds))} -D token={TOKEN} -D value=0 {drawn} {postgres.OURS}"
        )
        return self.cluster.execute(self.target.storage_servers[0], ["sh", "-c", f"{write}{run}"])


_WRITES: Mapping[str, Callable[[NativeTools, str, float], NativeDocument | None]] = {
    "etcd": NativeTools.write_to_etcd,
    "postgres": NativeTools.write_to_postgres,
    "redis": NativeTools.write_to_redis,
}


def _sql(fencing: str) -> str:
    text = "".join(f"{' '.join(each.split())};\n" for each in postgres.statements(fencing, POLICY))
    for parameter, word in _PARAMETERS.items():
        text = text.replace(parameter, word)
    return text
