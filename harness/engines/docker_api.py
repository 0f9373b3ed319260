"""The connection to Docker: which engine, whether it answers, and why not."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import docker
import requests
from docker.context import ContextAPI
from docker.errors import DockerException

from harness.core.errors import EngineUnavailableError, InfrastructureError

ANSWER_TIMEOUT = 2.0  # s; a running engine answers in milliseconds
CALL_TIMEOUT = 60  # s; removing a container may take seconds on a busy machine
UNIX = "unix://"
REMOTE = {"tcp", "http", "https", "ssh"}
LOCAL = {"127.0.0.1", "localhost", "::1"}
COMPOSE = "the compose plugin, version 2 (Debian and Ubuntu: docker-compose-plugin or docker-compose-v2)"


def connect() -> docker.DockerClient:
    """Connect to the engine that the docker command would use; EngineUnavailableError if that fails."""
    host = engine_host()
    if why_not := _refusal(host):
        raise EngineUnavailableError(why_not)
    _ping(host)
    with as_infrastructure_errors():
        return docker.DockerClient(base_url=host, timeout=CALL_TIMEOUT, version="auto")


def check_compose() -> None:
    """Raise EngineUnavailableError unless `docker compose` has version 2 or later."""
    if shutil.which("docker") is None:
        raise EngineUnavailableError("a Docker engine answers, but there is no docker command on PATH")
    version = compose_version()
    if version is None:
        raise EngineUnavailableError(f"Docker lacks {COMPOSE}")
    if version.startswith(("0.", "1.")):
        raise EngineUnavailableError(f"compose {version} is too old: Docker needs {COMPOSE}")


def compose_version() -> str | None:
    """Return such as "2.26.1", or None if there is no compose plugin."""
    command = ["docker", "compose", "version", "--short"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip().removeprefix("v") if done.returncode == 0 else None


def engine_host() -> str:
    """Return the engine's address, by the docker command's own order of precedence."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    context = ContextAPI.get_context(os.environ.get("DOCKER_CONTEXT") or None)
    return str(context.Host) if context is not None else f"{UNIX}/var/run/docker.sock"


def answers() -> bool:
    """Does an engine answer, even if something else is missing?"""
    try:
        connect().close()
    except EngineUnavailableError:
        return False
    return True


def expected_at() -> str | None:
    """Return the engine's address if Docker is set up here (a variable, a socket or a command)."""
    host = engine_host()
    there = os.environ.get("DOCKER_HOST") or shutil.which("docker") or Path(host.removeprefix(UNIX)).exists()
    return host if there else None


@contextmanager
def as_infrastructure_errors() -> Iterator[None]:
    """Turn errors of the docker SDK into an InfrastructureError of one sentence."""
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise InfrastructureError(f"Docker: {' '.join(str(error).split())}") from error


def _refusal(host: str) -> str | None:
    """Say why an engine at that address cannot be used; None for a unix socket."""
    try:
        address = urlsplit(host)
        scheme, machine = address.scheme, address.hostname
    except ValueError:
        scheme, machine = "", None
    if scheme == "unix":
        return None
    if scheme not in REMOTE or not machine:
        return f"{host} is not the address of a Docker engine; use for example {UNIX}/var/run/docker.sock"
    if machine in LOCAL and scheme != "ssh":
        return (
            f"the Docker engine is at {host}; Fencepost connects to an engine on this machine only by its "
            f"unix socket: set DOCKER_HOST to it (often {UNIX}/var/run/docker.sock), or unset it"
        )
    return (
        f"the Docker engine is at {host}, so ports that it publishes on 127.0.0.1 "
        f"are not on this machine: use an engine here ({UNIX}...)"
    )


def _ping(host: str) -> None:
    """Ping the engine directly: the SDK's errors do not say what the user can do."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_TIMEOUT)
            connection.connect(host.removeprefix(UNIX))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            answered = connection.recv(16).startswith(b"HTTP/1.")
    except PermissionError as error:
        raise EngineUnavailableError(
            f"permission denied on {host}: add your user to the group docker "
            "(sudo usermod -aG docker $USER) and log in again"
        ) from error
    except OSError:
        answered = False
    if not answered:
        raise EngineUnavailableError(
            f"no Docker engine answers at {host}; start it, or use the local engine (--engine local)"
        )
