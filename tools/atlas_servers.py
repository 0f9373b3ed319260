"""The S3 servers of the atlas: how each is installed, started, stopped and killed on this machine."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.atlas.wire import server_at

CACHE = Path(os.environ.get("ATLAS_CACHE", "~/.cache/fencepost-atlas")).expanduser()
PATIENCE = 120.0  # s until a server has started
STOPPED = 0.05  # s after everything is sent
LATEST_KILL = 0.02  # s after everything is sent
ENVIRONMENT = {
    "ROOT_ACCESS_KEY": "atlas",
    "ROOT_SECRET_KEY": "atlas-secret",
    "ATLAS_SECRET": "atlas-secret",
    "BIND_HOST": "127.0.0.1",
}
"""Of the servers and of the command: the account of versitygw, and where ministack listens."""
_GET = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A server: how it is installed and started; {home} is its folder in the cache, {data} an empty one."""

    name: str
    install: tuple[str, ...]
    start: tuple[str, ...]
    port: int
    config: str = ""  # of the file {data}/config
    keeps: bool = False  # are its objects there after a restart?

    @property
    def slug(self) -> str:
        """Its name in names of files."""
        return self.name.lower().replace(" ", "-")


def _versitygw(version: str) -> Tried:
    return Tried(
        name=f"versitygw {version}",
        install=("go", "install", f"github.com/versity/versitygw/cmd/versitygw@v{version}"),
        start=("{home}/versitygw", "--port", "127.0.0.1:19941", "posix", "{data}"),
        port=19941,
        keeps=True,
    )


def _s3mock(version: str) -> Tried:
    return Tried(
        name=f"s3mock {version}",
        install=("mvn", "-q", _GET, f"-Dartifact=com.adobe.testing:s3mock:{version}:jar:exec"),
        start=("java", "-jar", f"{{home}}/s3mock-{version}-exec.jar", "--server.port=0"),
        port=9090,
    )


def _python(name: str, requirement: str, *start: str, port: int) -> Tried:
    return Tried(name=name, install=("pip", "install", "--quiet", requirement), start=start, port=port)


SERVERS = (
    _versitygw("1.0.14"),
    _versitygw("1.7.0"),
    _versitygw("1.8.0"),
    Tried(
        name="s3proxy 4.1.0",
        install=("mvn", "-q", _GET, "-Dartifact=org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies"),
        start=(
            "java",
            "-jar",
            "{home}/s3proxy-4.1.0-jar-with-dependencies.jar",
            "--properties",
            "{data}/config",
        ),
        port=19942,
        config=(
            "s3proxy.endpoint=http://127.0.0.1:19942\ns3proxy.authorization=none\n"
            "jclouds.provider=filesystem-nio2\njclouds.filesystem.basedir={data}\n"
            "jclouds.identity=none\njclouds.credential=none\n"
        ),
        keeps=True,
    ),
    _s3mock("4.11.0"),
    _s3mock("5.2.0"),
    _python(
        "moto 5.2.5", "moto[server,s3]==5.2.5", "{home}/bin/moto_server", "-H127.0.0.1", "-p19943", port=19943
    ),
    Tried(
        name="gofakes3 1.2.0",
        install=("go", "install", "github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0"),
        start=("{home}/gofakes3", "-backend", "memory", "-host", "127.0.0.1:19944"),
        port=19944,
    ),
    _python("ministack 1.5.33", "ministack==1.5.33", "{home}/bin/ministack", port=4566),
)


def install(server: Tried) -> None:
    """Install a server in the cache, unless it is there."""
    home = CACHE / server.slug
    if home.exists():
        return
    new = home.with_name(f"{home.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    words = list(server.install)
    if words[0] == "pip":  # in its own environment, where it finds its programs later
        new = home
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        words[0] = str(home / "bin/pip")
    elif words[0] == "mvn":
        words.append(f"-DoutputDirectory={new}")
    subprocess.run(words, env=os.environ | {"GOBIN": str(new)}, check=True)
    if new != home:
        new.rename(home)


class Running:
    """A server on this machine, with its bucket."""

    def __init__(self, tried: Tried, data: Path) -> None:
        places = {"home": CACHE / tried.slug, "data": data}
        if tried.config:
            (data / "config").write_text(tried.config.format(**places))
        self.tried = tried
        self.at = server_at(
            f"http://127.0.0.1:{tried.port}",
            bucket="atlas",
            region="us-east-1",
            user=ENVIRONMENT["ROOT_ACCESS_KEY"],
            password=ENVIRONMENT["ROOT_SECRET_KEY"],
        )
        self._words = [word.format(**places) for word in tried.start]
        self._data = data
        self._start()

    def _start(self) -> None:
        name = self._data.with_suffix(".log")
        with name.open("a") as log:
            environment = os.environ | ENVIRONMENT
            self._process = subprocess.Popen(
                self._words, cwd=self._data, env=environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE
        while self.at.ask(self.at.request("PUT")).status not in {200, 409}:  # 409: it has the bucket already
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise SystemExit(f"{self.at.name} has not started, or has no bucket: see {name}")
            time.sleep(0.02)
        name.unlink()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop it with SIGSTOP until everything is sent."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
            time.sleep(STOPPED)
        finally:
            self._process.send_signal(signal.SIGCONT)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """Kill it with SIGKILL soon after everything is sent, and start it again."""
        yield
        time.sleep(random.uniform(0, LATEST_KILL))
        self._process.kill()
        self._process.wait()
        self._start()

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()
