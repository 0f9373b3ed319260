"""The relay that speaks TLS to servers that already run."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.network.tls_relay import HTTP2, relayed
from harness.network.topology import Address, AttachedSpec
from tests.support.certificates import Certificates, certified
from tests.support.waiting import PATIENCE


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certified(tmp_path_factory.mktemp("certificates"))


@contextmanager
def listening(certificates: Certificates) -> Iterator[tuple[int, list[bytes]]]:
    """A TLS server that keeps what it gets, answers with the protocol that was negotiated, and closes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    got: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
                got.append(secured.recv(1 << 16))
                secured.sendall(
                    b"%s after %d" % (str(secured.selected_alpn_protocol()).encode(), len(got[-1]))
                )

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], got
        listener.shutdown(socket.SHUT_RDWR)


def spec(port: int, ca_file: Path | str, *, host: str = "localhost", system: str = "redis") -> AttachedSpec:
    address = Address(host, port, password="secret", user="u")
    return AttachedSpec(
        name="redis-1", system=system, address=address, ca_file=str(ca_file), key="lock.servers"
    )


def asked(at: Address, request: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with socket.create_connection((at.host, at.port), PATIENCE) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.read()


@pytest.mark.parametrize(
    ("request_", "protocol"), [(b"PING\r\n", b"http/1.1"), (HTTP2 + b".0\r\n\r\nSM\r\n\r\n", b"h2")]
)
def test_plain_text_reaches_a_server_that_speaks_tls(
    certificates: Certificates, request_: bytes, protocol: bytes
) -> None:
    with listening(certificates) as (port, got), relayed([spec(port, certificates.authority)]) as (at,):
        answer = asked(at, request_)

    assert (answer, got) == (b"%s after %d" % (protocol, len(request_)), [request_])
    assert (at.user, at.password, at.host) == ("u", "secret", "127.0.0.1")


def test_a_server_certified_for_another_name_gets_nothing(certificates: Certificates, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        listening(certificates) as (port, got),
        log.open("wb") as file,
        relayed([spec(port, certificates.authority, host="127.0.0.2")], file) as (at,),
    ):
        assert asked(at, b"PING\r\n") == b""

    assert got == []
    assert "127.0.0.2" in log.read_text()


def test_a_server_of_another_authority_gets_nothing(certificates: Certificates, tmp_path: Path) -> None:
    other = certified(tmp_path)

    with listening(certificates) as (port, got), relayed([spec(port, other.authority)]) as (at,):
        assert asked(at, b"PING\r\n") == b""

    assert got == []


def test_what_a_client_sent_arrives_though_it_has_gone(certificates: Certificates) -> None:
    with listening(certificates) as (port, got), relayed([spec(port, certificates.authority)]) as (at,):
        with socket.create_connection((at.host, at.port), PATIENCE) as connection:
            connection.sendall(b"x" * 1000)
        assert asked(at, b"PING\r\n")  # by then it is served

    assert sorted(map(len, got)) == [6, 1000]


def test_servers_without_tls_and_postgres_are_reached_directly() -> None:
    plain, postgres = spec(1, ""), spec(2, "ca.pem", system="postgres")

    with relayed([plain, postgres]) as (first, second):
        assert (first.port, first.ca_file) == (1, "")
        assert (second.port, second.ca_file, second.certified) == (2, "ca.pem", "localhost")
