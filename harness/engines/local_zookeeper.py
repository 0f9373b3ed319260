"""ZooKeeper from the machine's own packages, on loopback: no wheel has one.

Debian's libzookeeper-java has the server, without a service that would start by itself;
ZOOKEEPER_HOME names an unpacked release of Apache's in its place.
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
"""Debian's jars: the server's names all that it needs but what writes its log."""
GET_ZOOKEEPER = (
    "apt-get install libzookeeper-java default-jre-headless, or set ZOOKEEPER_HOME to the folder of an "
    "unpacked release, or use Docker"
)
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JVM = ("-Xms32m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
TICK = 200  # ms; a session's timeout is rounded up to whole ticks


def check() -> None:
    """Raise EngineUnavailableError, with how to get it, if this machine lacks it."""
    if shutil.which("java") is None:
        raise EngineUnavailableError(
            f"the local engine needs Java for ZooKeeper, and no java is on PATH: {GET_ZOOKEEPER}"
        )
    if not any(_jars()):
        raise EngineUnavailableError(f"the local engine finds no ZooKeeper on this machine: {GET_ZOOKEEPER}")


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start a fresh ensemble of these servers; one that is alone has nobody to agree with."""
    free = iter(free_addresses(2 * len(servers)))
    ensemble = [
        f"server.{number}={next(free)}:{next(free).port};{server.address}"
        for number, server in enumerate(servers, 1)
    ]
    java = [str(shutil.which("java")), *JVM, "-cp", os.pathsep.join(map(str, _jars()))]
    for number, server in enumerate(servers, 1):
        configuration = _configure(supervisor, server.name, number, ensemble)
        supervisor.spawn(server.name, [*java, MAIN, configuration])


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
