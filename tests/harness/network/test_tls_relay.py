"""The relay that speaks TLS to servers that already run, and the certificates that it accepts."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil
import pytest

from harness.core.errors import InfrastructureError
from harness.nemesis.pause import pause
from harness.network.relay_process import HTTP2
from harness.network.tls_relay import relay_for
from harness.network.tls_stream import context_of
from harness.network.topology import Address, AttachedSpec
from tests.support.certificates import Certificates, certified, openssl
from tests.support.http_servers import at_port, listening
from tests.support.other_user import ask_as
from tests.support.waiting import PATIENCE
from workloads.settings import Login, Tls


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certified(tmp_path_factory.mktemp("certificates"))


@contextmanager
def tls_server(certificates: Certificates) -> Iterator[tuple[int, list[bytes]]]:
    """A TLS server that keeps what it gets, answers with the protocol that was negotiated, and closes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    got: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
            got.append(secured.recv(1 << 16))
            secured.sendall(b"%s after %d" % (str(secured.selected_alpn_protocol()).encode(), len(got[-1])))

    with listening(serve) as at:
        yield at_port(at).port, got


def spec(port: int, ca_file: Path | str, *, host: str = "localhost", system: str = "redis") -> AttachedSpec:
    tls = Tls(ca_file=str(ca_file), host=host) if ca_file else None
    address = Address(host, port, Login(password="secret", user="u", tls=tls))
    return AttachedSpec(name="redis-1", system=system, address=address, key="lock.servers")


@contextmanager
def relayed(server: AttachedSpec, log: IO[bytes] | None = None) -> Iterator[Address]:
    """Where a server is reached through a relay."""
    with relay_for([server], log) as relay:
        yield relay.address_of(server)


def asked(at: Address, request: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with socket.create_connection((at.host, at.port), PATIENCE) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.read()


@contextmanager
def stopped_relay() -> Iterator[None]:
    """Stop the relay of this process, which then accepts nothing; the kernel still connects."""
    (relay,) = [
        each for each in psutil.Process().children() if "harness.network.relay_process" in each.cmdline()
    ]
    with pause(relay, "relay"):
        yield


@pytest.mark.parametrize(
    ("request_", "protocol"), [(b"PING\r\n", b"http/1.1"), (HTTP2 + b".0\r\n\r\nSM\r\n\r\n", b"h2")]
)
def test_plain_text_reaches_tls_servers(certificates: Certificates, request_: bytes, protocol: bytes) -> None:
    with tls_server(certificates) as (port, got), relayed(spec(port, certificates.authority)) as at:
        answer = asked(at, request_)

    assert (answer, got) == (b"%s after %d" % (protocol, len(request_)), [request_])
    assert (at.login.user, at.login.password, at.host) == ("u", "secret", "127.0.0.1")


def test_a_server_of_another_authority_gets_nothing(certificates: Certificates, tmp_path: Path) -> None:
    other = certified(tmp_path)

    with tls_server(certificates) as (port, got), relayed(spec(port, other.authority)) as at:
        assert asked(at, b"PING\r\n") == b""

    assert got == []


def test_another_user_gets_nothing(certificates: Certificates, tmp_path: Path, other_user: int) -> None:
    log = tmp_path / "log"
    with (
        tls_server(certificates) as (port, got),
        log.open("wb") as file,
        relayed(spec(port, certificates.authority), file) as at,
    ):
        assert ask_as(other_user, at, b"PING") == b""

    assert got == []
    assert f"user {other_user}" in log.read_text()


def test_a_connection_of_an_unknown_user_is_refused(certificates: Certificates, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        tls_server(certificates) as (port, got),
        log.open("wb") as file,
        relayed(spec(port, certificates.authority), file) as at,
    ):
        with stopped_relay(), socket.create_connection((at.host, at.port), PATIENCE) as connection:
            connection.sendall(b"x" * 1000)
            connection.close()
        assert asked(at, b"PING\r\n")  # by then the first was dealt with

    assert got == [b"PING\r\n"]
    assert "already gone" in log.read_text()


def test_servers_without_tls_and_postgres_are_reached_directly() -> None:
    plain, postgres = spec(1, ""), spec(2, "ca.pem", system="postgres")

    with relay_for([plain, postgres]) as relay:
        first, second = map(relay.address_of, [plain, postgres])
        assert (first.port, first.login.tls) == (1, None)
        assert (second.port, second.login.tls) == (2, Tls(ca_file="ca.pem", host="localhost"))


def test_the_name_in_the_target_is_verified_not_a_proxys(certificates: Certificates, tmp_path: Path) -> None:
    log = tmp_path / "log"
    known, other = (spec(1, certificates.authority, host=name) for name in ("localhost", "other.example"))
    with (
        tls_server(certificates) as (port, got),
        log.open("wb") as file,
        relay_for([known, other], file) as relay,
    ):
        proxy = Address("127.0.0.1", port)
        answers = [asked(relay.front(server, proxy).address, b"PING") for server in (known, other)]

    assert answers == [b"http/1.1 after 4", b""]
    assert got == [b"PING"]
    assert "certificate is not valid for 'other.example'" in log.read_text()


def test_a_front_refuses_connections_until_it_accepts_them_again(certificates: Certificates) -> None:
    server = spec(1, certificates.authority)
    with tls_server(certificates) as (port, _), relay_for([server]) as relay:
        front = relay.front(server, Address("127.0.0.1", port))
        front.refuse()
        with pytest.raises(ConnectionRefusedError):
            asked(front.address, b"PING")
        with socket.socket() as other, pytest.raises(OSError, match="already in use"):
            other.bind((front.address.host, front.address.port))
        front.accept()
        answer = asked(front.address, b"PING")

    assert answer == b"http/1.1 after 4"


def test_a_relay_that_has_ended_is_an_infrastructure_failure(certificates: Certificates) -> None:
    server = spec(1, certificates.authority)
    with relay_for([server]) as relay:
        assert relay.process
        relay.process.kill()
        relay.process.wait()
        with pytest.raises(InfrastructureError, match="the TLS relay has ended"):
            relay.address_of(server)


def shake_hands(server: Certificates, ca_file: Path) -> None:
    """Connect to a server that shows that certificate; ssl.SSLError if it is not accepted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.key)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs:
            try:
                context.wrap_socket(theirs, server_side=True).close()
            except OSError:
                return

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        context_of(Tls(ca_file=str(ca_file))).wrap_socket(ours, server_hostname="localhost").close()
    finally:
        ours.close()
        serving.join()


def test_an_authority_without_the_key_usage_extension_is_accepted(tmp_path: Path) -> None:
    made, plain = certified(tmp_path), tmp_path / "plain.pem"
    only_an_authority = ["-addext", "basicConstraints=critical,CA:TRUE", "-config", "/dev/null"]
    key = tmp_path / "ca.key"
    openssl("req", "-x509", "-key", key, "-subj", "/CN=authority", *only_an_authority, "-out", plain)

    shake_hands(made, plain)


def test_an_intermediate_authority_needs_its_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    root, server = certified(tmp_path / "root"), certified(tmp_path)
    request, extensions, intermediate = (tmp_path / name for name in ("i.csr", "i.ext", "i.pem"))
    extensions.write_text("basicConstraints=critical,CA:TRUE\n")
    openssl("req", "-new", "-key", tmp_path / "ca.key", "-subj", "/CN=authority", "-out", request)
    signed_by = ["-CA", root.authority, "-CAkey", tmp_path / "root/ca.key", "-CAcreateserial"]
    openssl("x509", "-req", "-in", request, "-out", intermediate, "-extfile", extensions, *signed_by)
    both = tmp_path / "both.pem"
    both.write_text(intermediate.read_text() + root.authority.read_text())

    shake_hands(server, both)
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get issuer certificate"):
        shake_hands(server, intermediate)
