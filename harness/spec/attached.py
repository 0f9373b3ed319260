"""Servers that already run, before the run and after it: where they are, and how to log in to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema

from harness.nemesis.contradictions import SettingConflict
from harness.network.systems import SYSTEMS
from harness.spec.fields import VARIABLE_PATTERN
from harness.spec.sides import LimitedMemory, Side
from workloads.settings import Login, Tls

AT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+):([0-9]{1,5})")
SCHEMA_PATTERN = r"^(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+):[0-9]{1,5}$"
EXAMPLE = "127.0.0.1:2379"
PORTS = {
    "dynamodb": 8000,
    "mariadb": 3306,
    "nats": 4222,
    "postgres": 5432,
    "redis": 6379,
    "redlock": 6379,
    "s3": 9000,
    "zookeeper": 2181,
}
"""The usual port of each kind that is not etcd."""
MOST_PORTS = 65536
MOST_SERVERS = 9


def _address(text: str, info: ValidationInfo) -> str:
    found = AT.fullmatch(text)
    if not found or not 0 < int(found[2]) < MOST_PORTS:
        example = f"127.0.0.1:{PORTS[info.data['kind']]}" if info.data.get("kind") in PORTS else EXAMPLE
        raise ValueError(f'must be host:port with a port from 1 to {MOST_PORTS - 1}, such as "{example}"')
    return text


def _different(addresses: tuple[str, ...]) -> tuple[str, ...]:
    if not 0 < len(addresses) <= MOST_SERVERS:
        raise ValueError(f"must name 1 to {MOST_SERVERS} servers")
    if len(set(addresses)) < len(addresses):
        raise ValueError("must not name a server twice")
    return addresses


ServerAddress = Annotated[
    str,
    AfterValidator(_address),
    WithJsonSchema({"type": "string", "pattern": SCHEMA_PATTERN, "examples": [EXAMPLE]}),
]
_Addresses = Annotated[tuple[ServerAddress, ...], AfterValidator(_different)]
_Path = Annotated[str, Field(min_length=1)]


class _Running(Side):
    """A side whose servers may already run, and need a password."""

    password_env: Annotated[str, Field(pattern=VARIABLE_PATTERN)] | None = None
    """The environment variable with the password, for servers that already run."""
    password_file: _Path | None = None
    """The file with that password, instead of a variable."""


class MayHaveEndpoints(_Running):
    """A side of the user's own: its servers, if the target names them, already run."""

    running: _Addresses | None = Field(None, alias="endpoints")
    """The addresses of its servers; it gets a proxy in front of each instead."""


class MayRunAlready(_Running, LimitedMemory):
    """A side whose servers Fencepost starts, if the target does not name some that already run."""

    fewest_running: ClassVar[int] = 1
    most_running: ClassVar[int] = MOST_SERVERS
    default_user: ClassVar[str] = ""
    """The user whose password it is if the target names none; "": it must name one."""
    may_trust_user: ClassVar[bool] = False
    """Can a server let a user in without a password?"""
    needs_user: ClassVar[bool] = False
    shows_password: ClassVar[str | None] = ""
    """The condition under which the password goes over the network as it is; "": always; None: never."""

    running: _Addresses | None = Field(None, alias="servers")
    """The addresses of servers that already run, such as ["127.0.0.1:2379"]."""
    user: str = ""
    """The user that clients log in as, on servers that already run."""
    ca_file: _Path | None = None
    """The certificate authority of servers that already run: clients speak TLS to them."""
    cert_file: _Path | None = None
    """The certificate that clients show to servers that already run, with key_file."""
    key_file: _Path | None = None
    """The private key of cert_file, not encrypted."""

    def login(self, password: str, host: str) -> Login:
        """Return how to log in to servers that already run, at this host."""
        files = (self.ca_file, self.cert_file, self.key_file)
        ca_file, cert_file, key_file = (str(Path(file).resolve()) if file else "" for file in files)
        tls = Tls(ca_file=ca_file, cert_file=cert_file, key_file=key_file, host=host) if ca_file else None
        user = self.user or (self.default_user if password else "")
        return Login(password=password, user=user, database=self.user, tls=tls)


PASSWORDS = ("password_env", "password_file")
ACCESS = ("user", *PASSWORDS, "ca_file", "cert_file", "key_file", "database", "bucket", "region")
"""The keys that say how to reach servers that already run."""
OF_STARTED = (
    "nodes",
    "image",
    "flavour",
    "memory",
    "version",
    "replica",
    "manager",
    "durable",
    "replication",
    "server",
)
"""The keys about servers that Fencepost starts."""
GENERATED = "Fencepost generates the password of the servers that it starts: remove the key"


def names(first: str, running: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names of servers: `first` with a number if there are several."""
    return numbered(first, running, 1) if running and len(running) > 1 else (first,)


def numbered(first: str, running: tuple[str, ...] | None, started: int) -> tuple[str, ...]:
    """Return the names of servers, each with a number."""
    return tuple(f"{first}-{number + 1}" for number in range(len(running) if running else started))


def running_at(spec: Any) -> tuple[str, ...]:
    """Return the addresses of a side's servers that already run; () if Fencepost starts them."""
    return getattr(spec, "running", None) or ()


def contradictions(side: str, spec: Any) -> Iterator[SettingConflict]:
    """Yield settings of a side that contradict whether its servers already run."""
    if "running" not in type(spec).model_fields:
        return
    given = spec.model_fields_set
    alias = type(spec).model_fields["running"].alias
    if not spec.running:
        of_password = f"{GENERATED}, or name the servers that already run in {side}.servers"
        of_other = f"is for servers that already run: name them in {side}.servers, or remove the key"
        for key in ACCESS:
            if key in given and alias == "servers":
                yield SettingConflict((side, key), of_password if key.startswith("password") else of_other)
        return
    needless = f"is for servers that Fencepost starts: remove it, or {side}.{alias}"
    yield from (SettingConflict((side, key), needless) for key in OF_STARTED if key in given)
    if alias == "servers":
        yield from _login(side, spec)
        yield from _certificate(side, spec)
        yield from _count(side, spec)


def _login(side: str, spec: Any) -> Iterator[SettingConflict]:
    password = spec.password_env or spec.password_file
    if spec.needs_user and not spec.user:
        yield SettingConflict((side, "servers"), f"needs the user to log in as: give {side}.user")
    if spec.user and not password and not spec.may_trust_user:
        yield SettingConflict((side, "user"), "needs its password: give password_env, or password_file")
    elif password and not (spec.user or spec.default_user):
        key = "password_env" if spec.password_env else "password_file"
        yield SettingConflict((side, key), "needs the user whose password it is: give user")


def _certificate(side: str, spec: Any) -> Iterator[SettingConflict]:
    if spec.ca_file and not SYSTEMS[spec.system].may_speak_tls:
        no_tls = f'cannot be used: Fencepost speaks no TLS to servers of kind "{spec.kind}"; remove the key'
        yield SettingConflict((side, "ca_file"), no_tls)
    if spec.cert_file and not spec.key_file:
        yield SettingConflict((side, "cert_file"), "needs its private key: give key_file")
    elif spec.key_file and not spec.cert_file:
        yield SettingConflict((side, "key_file"), "needs the certificate whose key it is: give cert_file")
    elif spec.cert_file and not spec.ca_file:
        tls = "is for TLS, which clients speak only with ca_file: give it"
        yield SettingConflict((side, "cert_file"), tls)


def _count(side: str, spec: Any) -> Iterator[SettingConflict]:
    count, key = len(spec.running), (side, "servers")
    if count > spec.most_running:
        yield SettingConflict(key, f'must name one server: {side}.kind "{spec.kind}" uses no other')
    if count < spec.fewest_running:
        fewest = f"must name at least {spec.fewest_running} servers, most of which must grant"
        yield SettingConflict(key, fewest)
    if getattr(spec, "is_in_the_lock", False):
        own = 'has none of its own with storage.fencing "lock-key": name them in lock.servers'
        yield SettingConflict(key, own)
