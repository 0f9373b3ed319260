"""Servers that already run: checked before a run, and reached through proxies like any other."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.engines.readiness import unlike
from harness.files.logs import open_log
from harness.network.systems import SYSTEMS, begin_tls
from harness.network.tls_relay import Front, Relay, is_relayed, relay_for
from harness.network.tls_stream import context_of
from harness.network.topology import Address, AttachedSpec, NetworkEdge, Server
from workloads.client import NotApplied
from workloads.settings import Tls

CONNECTING = 5.0  # s
ALERT = 0.3  # s; in which a server refuses a certificate, unless it is busy
LATE_ALERT = 5.0  # s; for one that answers nothing afterwards
ANOTHER_NAME = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH, …_IP_ADDRESS_MISMATCH
ANOTHER_AUTHORITY = {2, 18, 19, 20, 21}  # …_UNABLE_TO_GET_ISSUER_CERT, …_SELF_SIGNED_…, …_UNABLE_TO_VERIFY_…
PEM = {"ca_file": b"CERTIFICATE-----", "cert_file": b"CERTIFICATE-----", "key_file": b"PRIVATE KEY-----"}
OURS_REFUSED = (
    "ALERT_BAD_CERT",
    "ALERT_CERTIFICATE",
    "ALERT_HANDSHAKE",
    "ALERT_UNKNOWN_CA",
    "ALERT_UNSUPPORTED_CERT",
)
"""Parts of OpenSSL's names for what a server says that does not accept our certificate, or misses one."""


class NoTlsError(Exception):
    """The server does not speak TLS."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Servers that already run, with addresses that speak no TLS, and the relay that speaks it."""

    servers: tuple[Server, ...]
    relayed: Mapping[str, AttachedSpec]  # by name: those that the relay speaks TLS to
    relay: Relay

    def fronts(self, proxies: Mapping[NetworkEdge, Address]) -> Mapping[NetworkEdge, Front]:
        """Put the relay in front of the proxies of the servers that it speaks TLS to."""
        return {
            edge: self.relay.front(self.relayed[edge.server], proxy)
            for edge, proxy in proxies.items()
            if edge.server in self.relayed
        }


@contextmanager
def reached(servers: Sequence[AttachedSpec], logs: Path) -> Iterator[Attached]:
    """Yield the servers, and keep the relay until the block ends; it logs to `logs`."""
    if not servers:
        yield Attached((), {}, Relay(None))
        return
    logs.mkdir(parents=True, exist_ok=True)
    with (
        open(open_log(logs / "tls-relay.log"), "ab") as log,  # noqa: PTH123 (a descriptor)
        relay_for(servers, log) as relay,
    ):
        addresses = [relay.address_of(server) for server in servers]
        tickets = {key: _ticket(key, servers, addresses) for key in {server.key for server in servers}}
        known = tuple(
            Server(
                name=server.name,
                system=server.system,
                address=replace(address, login=replace(address.login, ticket=tickets[server.key])),
                upstream=server.address,
            )
            for server, address in zip(servers, addresses, strict=True)
        )
        yield Attached(known, {server.name: server for server in servers if is_relayed(server)}, relay)


def _ticket(key: str, servers: Sequence[AttachedSpec], addresses: Sequence[Address]) -> str:
    """Log in to the cluster of one side, for all clients; "" where each connection does that."""
    members = [at for server, at in zip(servers, addresses, strict=True) if server.key == key]
    (system,) = {server.system for server in servers if server.key == key}
    log_in = SYSTEMS[system].log_in if system else None
    if log_in is None or not members[0].login.user:
        return ""
    try:
        return log_in(members)
    except NotApplied as error:
        raise ServerNotReadyError(f"{key}: {error}") from error


def check(servers: Sequence[AttachedSpec]) -> None:
    """Connect to each server, and see that it speaks what it should; its login is checked later.

    Raises ServerNotReadyError if it cannot be reached, ConfigurationError if it is not what the target says.
    """
    for server in servers:
        try:
            socket.create_connection((server.address.host, server.address.port), CONNECTING).close()
        except OSError as error:
            raise ServerNotReadyError(f"{_of(server)} cannot be reached: {error}; start it first") from None
        if tls := server.address.login.tls:
            _check_its_certificate(server, tls)
    with relay_for(servers) as relay:
        for server in servers:
            if server.system:
                _check_its_answer(server, relay.address_of(server))


def _check_its_answer(server: AttachedSpec, address: Address) -> None:
    """See that a server answers in plain text, at `address`, as its system does."""
    answer = unlike(server.system, address)
    if answer is None:
        return
    tls = server.address.login.tls
    if tls and not answer:
        _check_its_certificate(server, tls, LATE_ALERT)
    raise _of_another_kind(server, answer)


def _check_its_certificate(server: AttachedSpec, tls: Tls, alert: float = ALERT) -> None:
    side, _, _ = server.key.partition(".")
    context = _context(tls, side)
    try:
        _shake_hands(server, context, alert)
    except ssl.SSLCertVerificationError as error:
        raise ConfigurationError(
            f"{_of(server)} shows a certificate that is not accepted: {error.verify_message}; "
            f"{_remedy(server, side, error.verify_code)}"
        ) from None
    except (NoTlsError, ssl.SSLError, ConnectionError) as error:  # it was reached a moment ago
        if isinstance(error, ssl.SSLError) and any(word in str(error.reason) for word in OURS_REFUSED):
            raise ConfigurationError(_refused(server, tls, side, str(error.reason))) from None
        answer = unlike(server.system, server.address)
        if answer is not None:
            raise _of_another_kind(server, answer) from None
        raise ConfigurationError(f"{_of(server)} speaks no TLS: remove {side}.ca_file") from None
    except (OSError, TimeoutError) as error:
        raise ServerNotReadyError(f"{_of(server)} began no TLS: {error!r}") from None


def _remedy(server: AttachedSpec, side: str, verify_code: int) -> str:
    """Return the remedy for a certificate that is not accepted, by OpenSSL's code of the reason."""
    if verify_code in ANOTHER_NAME:
        return f"its name must be the one in {server.key}"
    if verify_code in ANOTHER_AUTHORITY:
        return f"{side}.ca_file must contain the root certificate of its chain"
    return "replace it"


def _context(tls: Tls, side: str) -> ssl.SSLContext:
    """Return what speaks TLS to a server; ConfigurationError names the file that cannot be used."""
    for key in ("ca_file", "cert_file", "key_file"):
        if file := getattr(tls, key):
            try:
                content = Path(file).read_bytes()
            except OSError as error:
                raise ConfigurationError(_unusable(side, key, file, str(error.strerror))) from None
            if PEM[key] not in content:
                what = "private key" if key == "key_file" else "certificate"
                raise ConfigurationError(_unusable(side, key, file, f"it has no {what} in PEM"))
    try:
        context_of(Tls(ca_file=tls.ca_file))
    except ssl.SSLError:
        why = "it has no certificate in PEM"
        raise ConfigurationError(_unusable(side, "ca_file", tls.ca_file, why)) from None
    try:
        return context_of(tls)
    except ssl.SSLError as error:
        why = f"it is encrypted, damaged, or not the key of {side}.cert_file"
        if error.reason == "KEY_VALUES_MISMATCH":
            why = f"it is not the key of {side}.cert_file"
        raise ConfigurationError(_unusable(side, "key_file", tls.key_file, why)) from None


def _unusable(side: str, key: str, file: str, why: str) -> str:
    return f'{side}.{key} = "{file}": cannot be used: {why}'


def _refused(server: AttachedSpec, tls: Tls, side: str, reason: str) -> str:
    said = reason.lower().replace("_", " ")
    if not tls.cert_file:
        return (
            f"{_of(server)} asks for a client certificate ({said}): give {side}.cert_file and {side}.key_file"
        )
    return (
        f"{_of(server)} refuses the certificate of {side}.cert_file ({said}): it must be valid, for clients, "
        "and signed by an authority that the server trusts"
    )


def _shake_hands(server: AttachedSpec, context: ssl.SSLContext, alert: float) -> None:
    """Open a TLS connection and close it again; some systems are asked for TLS in their own protocol.

    With TLS 1.3, a server refuses our certificate only after the handshake: its alert comes at once, within
    `alert` seconds, but is lost if something was sent by then.
    """
    at = (server.address.host, server.address.port)
    with socket.create_connection(at, CONNECTING) as connection:
        begin = begin_tls(server.system)
        if begin is not None and not begin(connection):
            raise NoTlsError
        with context.wrap_socket(connection, server_hostname=server.address.host) as secured:
            if secured.version() != "TLSv1.3":
                return
            secured.settimeout(alert)
            with suppress(TimeoutError):
                secured.recv(1)


def _of_another_kind(server: AttachedSpec, answer: bytes) -> ConfigurationError:
    """Return the error for a server that does not answer as its system does."""
    said = " ".join(answer.decode(errors="replace").split())[:80]
    is_text = bool(said) and said.isprintable()
    what = (
        f'answers "{said}", which is not {server.system}'
        if is_text
        else f"does not answer as {server.system} does"
    )
    side, _, _ = server.key.partition(".")
    tls = server.address.login.tls
    # One that is asked to begin TLS was asked in plain text.
    may_speak_tls = not tls and SYSTEMS[server.system].may_speak_tls and begin_tls(server.system) is None
    hint = f"; if it speaks TLS, give {side}.ca_file" if may_speak_tls else ""
    if tls and not answer:
        hint = (
            f", and whether it accepts the certificate of {side}.cert_file"
            if tls.cert_file
            else f"; if it asks for a client certificate, give {side}.cert_file and {side}.key_file"
        )
    forwarded = "" if answer else ", and that the server runs if this is a forwarded port"
    return ConfigurationError(f"{_of(server)} {what}: check {server.key}{forwarded}{hint}")


def _of(server: AttachedSpec) -> str:
    return f"{server.key}: {server.address}"


def about(server: Server) -> dict[str, Any]:
    """Return the system and the version of a server, for environment.json."""
    return {"system": server.system, "version": SYSTEMS[server.system].version(server.address)}


def about_attached(server: Server) -> dict[str, Any]:
    """Return the same of one that already ran, which may not tell us its version."""
    try:
        found = about(server)
    except Exception:  # noqa: BLE001 - the user may not ask, and each system's library has its own errors
        found = {"system": server.system, "version": "unknown"}
    return found | {"attached": True}
