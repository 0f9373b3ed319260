"""Toxiproxy for the local engine: the one on PATH, or one of our own in the user's cache folder.

The one in the cache is taken once from our image where a Docker engine answers, and else built
once with Go. Its name ends in the SHA-256 of its content, which is compared before each use: one
that is not what it was is made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import secrets
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from harness.core.errors import EngineUnavailableError, InfrastructureError
from harness.engines.pins import pins
from harness.files import private_folder
from harness.files.cache_folder import cache_folder
from harness.processes import ownership
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.supervisor import Supervisor

PROGRAM = "toxiproxy-server"
IMAGE = "toxiproxy"
IN_IMAGE = "/toxiproxy"
MODULE = "github.com/Shopify/toxiproxy/v2"
BUILD_TIMEOUT = 900.0  # s; it takes half a minute, and more where Go fetches a newer Go first
ANSWER_TIMEOUT = 10.0  # s
GET_IT = (
    "with Docker or Go (Debian: apt-get install golang-go) on this machine Fencepost makes it by itself; "
    f"or put a {PROGRAM} on PATH"
)
NEEDED_FOR = "cutting an edge, and a replica's link, need Toxiproxy"

Notify = Callable[[str], None]


def find() -> Path | None:
    """Return the program that is on PATH, else the one in the cache if it is whole; None: there is none."""
    on_path = shutil.which(PROGRAM)
    if on_path is not None:
        return Path(on_path)
    try:
        _check_that_it_is_absolute()
        with private_folder.opened(cache_folder()):
            return next(filter(_is_whole, cache_folder().glob(f"{_stem()}*")), None)
    except (OSError, private_folder.UnsafeFolderError):
        return None


def refusal() -> str | None:
    """Say why this machine has none and none can be made here, or None if it has or can."""
    if find() is not None:
        return None
    why_not = [is_missing() for is_missing, _ in MAKERS]
    if None in why_not:
        return None
    return f"{NEEDED_FOR}: no {PROGRAM} is on PATH, {', and '.join(map(str, why_not))}; {GET_IT}"


def provide(notify: Notify) -> Path:
    """Return the program, which is made first if need be; EngineUnavailableError where it cannot be."""
    found = find()
    if found is not None:
        return found
    if why_not := refusal():
        raise EngineUnavailableError(why_not)
    try:
        _check_that_it_is_absolute()
        private_folder.make(cache_folder())
        with _alone():
            return find() or _make(notify)
    except (OSError, private_folder.UnsafeFolderError) as error:
        raise EngineUnavailableError(
            f"{NEEDED_FOR}, and {cache_folder()} cannot keep it: {error}; name another in XDG_CACHE_HOME"
        ) from error


def _make(notify: Notify) -> Path:
    """Try one way after the other."""
    failed = []
    scratch = cache_folder() / "making"  # nobody else is making it: what is there was left by one that died
    for is_missing, make in MAKERS:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        try:
            if is_missing() is None:
                make(scratch / PROGRAM, notify)
                return _keep(scratch / PROGRAM)
        except (InfrastructureError, tarfile.TarError) as error:
            failed.append(str(error))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    raise EngineUnavailableError(f"{NEEDED_FOR}, and it could not be made: {'; '.join(failed)}; {GET_IT}")


def _keep(program: Path) -> Path:
    """Put a program that runs into the cache at once, and remove those that it replaces."""
    _check_that_it_runs(program)
    old = list(cache_folder().glob(f"{_stem()}*"))
    kept = cache_folder() / f"{_stem()}{_digest(program)}"
    program.replace(kept)
    for each in old:
        if each != kept:
            each.unlink(missing_ok=True)
    return kept


def _check_that_it_runs(program: Path) -> None:
    program.chmod(0o700)
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=ANSWER_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{PROGRAM} does not run here: {error}") from None
    if done.returncode != 0 or pins()["TOXIPROXY"] not in done.stdout:
        raise InfrastructureError(f"{PROGRAM} does not say that it is {pins()['TOXIPROXY']}: {done.stdout}")


def _no_docker() -> str | None:
    from harness.engines.docker_api import connect

    try:
        connect().close()
    except EngineUnavailableError:
        return "no Docker engine answers, from whose image it could be taken"
    return None if shutil.which("docker") else "there is no docker command to build its image with"


def _take_from_image(program: Path, notify: Notify) -> None:
    from harness.engines.built_images import our_image
    from harness.engines.docker_api import connect, told_plainly
    from harness.engines.docker_images import provide_before_any_run

    image = our_image(IMAGE)
    provide_before_any_run([image], notify)
    marks = ownership.this_process().marks(f"toxiproxy-{secrets.token_hex(4)}")
    with closing(connect()) as client, told_plainly():
        container = client.containers.create(image, labels=marks)
        try:
            chunks, _ = container.get_archive(IN_IMAGE)
            with tempfile.TemporaryFile() as archive:
                archive.writelines(chunks)
                archive.seek(0)
                _unpack(archive, program)
        finally:
            with deferred_interrupts():
                container.remove(force=True)


def _unpack(archive: IO[bytes], program: Path) -> None:
    with tarfile.open(fileobj=archive) as tar, program.open("xb") as file:
        content = tar.extractfile(IN_IMAGE.lstrip("/"))
        if content is None:
            raise InfrastructureError(f"{IN_IMAGE} in our image is no file")
        shutil.copyfileobj(content, file)


def _no_go() -> str | None:
    return None if shutil.which("go") else "there is no Go to build it with"


def _build_with_go(program: Path, notify: Notify) -> None:
    """Build it as our image's Dockerfile does."""
    version = pins()["TOXIPROXY"]
    notify(f"building {PROGRAM} {version} with Go, once")
    scratch = program.parent
    settings = {"GOBIN": str(scratch), "CGO_ENABLED": "0", "GOOS": "", "GOARCH": ""}
    supervisor = Supervisor(scratch / "home", scratch / "logs", {**os.environ, **settings})
    flags = f"-s -w -X {MODULE}.Version={version}"
    command = ["go", "install", "-trimpath", f"-ldflags={flags}", f"{MODULE}/cmd/server@v{version}"]
    try:
        supervisor.make()
        supervisor.run_to_its_end("go", command, timeout=BUILD_TIMEOUT)
    finally:
        with deferred_interrupts():
            supervisor.close()
    if not (scratch / "server").is_file():
        raise InfrastructureError("go install left no server")
    (scratch / "server").rename(program)


MAKERS = ((_no_docker, _take_from_image), (_no_go, _build_with_go))


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process makes it; a process that dies lets the next one in."""
    with (cache_folder() / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check_that_it_is_absolute() -> None:
    """A folder below the current one may be a stranger's."""
    if not cache_folder().is_absolute():
        raise private_folder.UnsafeFolderError("it is not absolute")


def _stem() -> str:
    return f"{PROGRAM}-{pins()['TOXIPROXY']}-{platform.machine()}-"


def _is_whole(file: Path) -> bool:
    """Compare a file's content with the digest in its name."""
    with contextlib.suppress(OSError):
        return file.name == f"{_stem()}{_digest(file)}" and os.access(file, os.X_OK)
    return False


def _digest(file: Path) -> str:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
