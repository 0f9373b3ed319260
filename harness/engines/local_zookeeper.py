"""ZooKeeper from the machine's own packages, on loopback: there is no wheel.

Debian's libzookeeper-java has the server, without a system service. ZOOKEEPER_HOME names an
unpacked Apache release instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.core.errors import EngineUnavailableError
from harness.network.ports import free_addresses
from harness.network.topology import Server
from harness.processes.supervisor import Supervisor

DEBIAN = tuple(Path("/usr/share/java", jar) for jar in ("zookeeper.jar", "slf4j-simple.jar"))
"""Debian's jars: the server's manifest names its dependencies, except for the logger."""
GET_ZOOKEEPER = (
    "apt-get install libzookeeper-java default-jre-headless, or set ZOOKEEPER_HOME to the folder of an "
    "unpacked release, or use Docker"
)
FORGETFUL = "zookeeper-3.9.3.jar"
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JVM = ("-Xms32m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
TICK = 200  # ms; a session's timeout is rounded up to whole ticks


def check(*, killed: bool) -> None:
    """Raise EngineUnavailableError, with the remedy, without a ZooKeeper that fits a run that may kill it."""
    if shutil.which("java") is None:
        raise EngineUnavailableError(
            f"the local engine needs Java for ZooKeeper, but no java is on PATH: {GET_ZOOKEEPER}"
        )
    if not any(_jars()):
        raise EngineUnavailableError(f"the local engine finds no ZooKeeper on this machine: {GET_ZOOKEEPER}")
    if killed and any(jar.resolve().name == FORGETFUL for jar in _jars()):
        raise EngineUnavailableError(
            "this machine's ZooKeeper 3.9.3 may lose data when it is killed (ZOOKEEPER-4925), so the run"
            " would prove nothing: set ZOOKEEPER_HOME to the folder of a later release, or use Docker"
        )


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start a new ensemble of these servers, or a standalone server."""
    free = iter(free_addresses(2 * len(servers)))
    ensemble = [
        f"server.{number}={next(free)}:{next(free).port};{server.address}"
        for number, server in enumerate(servers, 1)
    ]
    jars = [str(supervisor.program(jar)) for jar in _jars()]
    java = [str(shutil.which("java")), *JVM, "-cp", os.pathsep.join(jars)]
    for number, server in enumerate(servers, 1):
        supervisor.spawn(server.name, [*java, MAIN, _configure(supervisor, server.name, number, ensemble)])


def _configure(supervisor: Supervisor, name: str, number: int, ensemble: Sequence[str]) -> Path:
    folder = supervisor.folder(name)
    supervisor.file(f"{name}/myid", f"{number}\n")
    settings = (
        f"dataDir={folder}",
        f"tickTime={TICK}",
        "maxSessionTimeout=3600000",
        "initLimit=50",
        "syncLimit=20",
        "maxClientCnxns=0",
        "admin.enableServer=false",
        "4lw.commands.whitelist=srvr",
        *ensemble,
    )
    return supervisor.file(f"{name}/zoo.cfg", "\n".join(settings) + "\n")


def _jars() -> Iterator[Path]:
    home = os.environ.get("ZOOKEEPER_HOME")
    if home:
        yield from sorted(Path(home, "lib").glob("*.jar"))
    elif all(jar.exists() for jar in DEBIAN):
        yield from DEBIAN
