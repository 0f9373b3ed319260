"""Toxiproxy for the local engine: from PATH, or our own in the user's cache folder.

Ours is copied once from our image if a Docker engine answers, and otherwise built once with
Go. Its name ends with the SHA-256 of its content, which is verified before each use: a
program that has changed is replaced.
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
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO

from harness.core.errors import EngineUnavailableError, InfrastructureError
from harness.engines.built_images import our_image, pins
from harness.files import private_folder
from harness.files.user_folders import cache_folder
from harness.processes import ownership
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.supervisor import Supervisor

PROGRAM = "toxiproxy-server"
IMAGE = "toxiproxy"
IN_IMAGE = "/toxiproxy"
MODULE = "github.com/Shopify/toxiproxy/v2"
BUILD_TIMEOUT = 900.0  # s; it takes half a minute, or longer if Go downloads a newer Go first
ANSWER_TIMEOUT = 10.0  # s
GET_IT = (
    "install Docker or Go (Debian: apt-get install golang-go), and Fencepost gets Toxiproxy on its own; "
    f"or put {PROGRAM} on PATH"
)
NEEDED_FOR = "partitions, delays and replicas need Toxiproxy"

Notify = Callable[[str], None]


def find() -> Path | None:
    """Return the program on PATH, or else an intact one in the cache; None without either."""
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
    """Say why this machine has no Toxiproxy and cannot get it; None if it has or can."""
    if find() is not None:
        return None
    why_not = [is_missing() for is_missing, _ in MAKERS]
    if None in why_not:
        return None
    return f"{NEEDED_FOR}: no {PROGRAM} is on PATH, {', and '.join(map(str, why_not))}; {GET_IT}"


def provide(notify: Notify) -> Path:
    """Return the program, and get it first if necessary; EngineUnavailableError if that fails."""
    found = find()
    if found is not None:
        return found
    if why_not := refusal():
        raise EngineUnavailableError(why_not)
    try:
        _check_that_it_is_absolute()
        private_folder.make(cache_folder())
        with (cache_folder() / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel releases the lock of a process that dies
            return find() or _make(notify)
    except (OSError, private_folder.UnsafeFolderError) as error:
        raise EngineUnavailableError(
            f"{NEEDED_FOR}, but it cannot be cached in {cache_folder()}: {error}; "
            "set XDG_CACHE_HOME to another folder"
        ) from error


def _make(notify: Notify) -> Path:
    failed: list[str] = []
    scratch = cache_folder() / "making"  # under the lock: an existing one is left over from a killed process
    for is_missing, make in MAKERS:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        try:
            if is_missing() is None:
                make(scratch / PROGRAM, notify)
                return _keep(scratch / PROGRAM)
        except (InfrastructureError, tarfile.TarError) as error:
            failed += error.lines if isinstance(error, InfrastructureError) else [str(error)]
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    raise EngineUnavailableError(f"{NEEDED_FOR}, but it could not be provided: {GET_IT}", *failed)


def _keep(program: Path) -> Path:
    """Move a working program into the cache atomically, and remove older ones."""
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
        raise InfrastructureError(f"{PROGRAM} is not version {pins()['TOXIPROXY']}: {done.stdout}")


def _no_docker() -> str | None:
    from harness.engines.docker_api import answers

    if not answers():
        return "no Docker engine answers to copy it from an image"
    return None if shutil.which("docker") else "there is no docker command to build its image"


def _take_from_image(program: Path, notify: Notify) -> None:
    from harness.engines.docker_api import as_infrastructure_errors, connect
    from harness.engines.docker_images import provide_before_any_run

    image = our_image(IMAGE)
    provide_before_any_run([image], notify)
    marks = ownership.this_process().marks(f"toxiproxy-{secrets.token_hex(4)}")
    with closing(connect()) as client, as_infrastructure_errors():
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
            raise InfrastructureError(f"{IN_IMAGE} in our image is not a file")
        shutil.copyfileobj(content, file)


def _no_go() -> str | None:
    return None if shutil.which("go") else "Go is not installed to build it"


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
        supervisor.run_to_completion("go", command, timeout=BUILD_TIMEOUT)
    finally:
        with deferred_interrupts():
            supervisor.close()
    if not (scratch / "server").is_file():
        raise InfrastructureError("go install produced no server")
    (scratch / "server").rename(program)


MAKERS = ((_no_docker, _take_from_image), (_no_go, _build_with_go))


def _check_that_it_is_absolute() -> None:
    """Reject a relative folder: the current one may belong to another user."""
    if not cache_folder().is_absolute():
        raise private_folder.UnsafeFolderError("it is not absolute")


def _stem() -> str:
    return f"{PROGRAM}-{pins()['TOXIPROXY']}-{platform.machine()}-"


def _is_whole(file: Path) -> bool:
    with contextlib.suppress(OSError):
        return file.name == f"{_stem()}{_digest(file)}" and os.access(file, os.X_OK)
    return False


def _digest(file: Path) -> str:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
