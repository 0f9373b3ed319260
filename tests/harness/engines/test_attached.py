"""The check of servers that already run, before a run."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.engines.attached import check
from harness.network.topology import Address, AttachedSpec
from tests.support.certificates import Certificates, certified, openssl
from tests.support.http_servers import answer, answering, at_port, listening
from workloads.settings import Login, Tls


def spec(address: Address, system: str = "etcd", ca_file: str = "", **files: str) -> AttachedSpec:
    tls = Tls(ca_file=ca_file, host=address.host, **files) if ca_file else None
    return AttachedSpec(
        name="etcd-1", system=system, address=replace(address, login=Login(tls=tls)), key="lock.servers"
    )


@pytest.fixture
def http() -> Any:
    """The address of a server that answers HTTP, but is not etcd."""
    with answering(answer({"hello": "world"}), answer({})) as (at, _):
        yield at_port(at)


@pytest.mark.parametrize(
    "nowhere", [Address("127.0.0.1", 1), Address("no-such-host.invalid", 1)], ids=["port", "name"]
)
def test_a_server_that_nothing_reaches_is_an_infrastructure_failure(nowhere: Address) -> None:
    with pytest.raises(ServerNotReadyError, match=f"lock.servers: {nowhere} cannot be reached"):
        check([spec(nowhere)])


@pytest.mark.slow
def test_a_server_of_another_kind_is_a_wrong_configuration(http: Address) -> None:
    with pytest.raises(
        ConfigurationError, match=r"not etcd: check lock\.servers; if it speaks TLS, give lock\.ca_file"
    ):
        check([spec(http)])


def test_a_forwarded_port_whose_server_has_ended_is_named() -> None:
    with (
        answering() as (at, _),  # accepts each connection, and closes it
        pytest.raises(
            ConfigurationError, match=r"check lock\.servers, and that the server runs if this is a forwarded"
        ),
    ):
        check([spec(at_port(at))])


def test_endpoints_of_an_unknown_protocol_need_only_listen(http: Address) -> None:
    check([spec(http, system="")])


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), ("text", "no certificate in PEM")])
def test_a_wrong_authority_is_wrong_settings(http: Address, tmp_path: Path, content: Any, why: str) -> None:
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)

    with pytest.raises(ConfigurationError, match=why):
        check([spec(http, ca_file=str(file))])


@pytest.fixture
def authority(tmp_path: Path) -> str:
    return str(certified(tmp_path).authority)


@pytest.mark.parametrize(("system", "said"), [("etcd", answer({"etcdserver": "3.5.16"})), ("postgres", b"N")])
def test_a_server_without_tls_is_a_wrong_configuration(authority: str, system: str, said: bytes) -> None:
    with (
        answering(said) as (at, _),
        pytest.raises(ConfigurationError, match=r"speaks no TLS: remove lock\.ca_file"),
    ):
        check([spec(at_port(at), system=system, ca_file=authority)])


@pytest.mark.slow
@pytest.mark.parametrize("system", ["etcd", "postgres"])
def test_no_other_server_without_tls_is_taken_for_one(http: Address, authority: str, system: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"which is not {system}: check lock\.servers$"):
        check([spec(http, system=system, ca_file=authority)])


@pytest.mark.parametrize("ca_file", [False, True])
def test_a_tls_server_of_another_kind_is_not_taken_for_postgres(authority: str, ca_file: bool) -> None:
    refusal = b"\x15\x03\x01\x00\x02\x02\x46"  # TLS: fatal, protocol_version

    with (
        answering(refusal) as (at, _),
        pytest.raises(ConfigurationError, match=r"does not answer as postgres does: check lock\.servers$"),
    ):
        check([spec(at_port(at), system="postgres", ca_file=authority if ca_file else "")])


@pytest.mark.parametrize(
    ("key", "content", "why"),
    [
        ("cert_file", None, 'lock.cert_file = ".*other": cannot be used: No such file'),
        ("cert_file", "text", "lock.cert_file.*: it has no certificate in PEM"),
        ("key_file", None, 'lock.key_file = ".*other": cannot be used: No such file'),
        ("key_file", "text", "lock.key_file.*: it has no private key in PEM"),
    ],
)
def test_a_file_that_is_no_certificate_or_key_is_a_wrong_configuration(
    http: Address, tmp_path: Path, key: str, content: str | None, why: str
) -> None:
    files, other = files_of(tmp_path), tmp_path / "other"
    if content:
        other.write_text(content)

    with pytest.raises(ConfigurationError, match=why):
        check([spec(http, **files | {key: str(other)})])


def test_a_key_of_another_certificate_is_a_wrong_configuration(http: Address, tmp_path: Path) -> None:
    (tmp_path / "of-another").mkdir()
    files, other = files_of(tmp_path), files_of(tmp_path / "of-another")

    with pytest.raises(ConfigurationError, match=r"lock\.key_file.*: it is not the key of lock\.cert_file"):
        check([spec(http, **files | {"key_file": other["key_file"]})])


def test_an_encrypted_key_is_refused_without_asking_for_its_password(http: Address, tmp_path: Path) -> None:
    files, encrypted = files_of(tmp_path), tmp_path / "encrypted.key"
    openssl("pkey", "-in", files["key_file"], "-aes256", "-passout", "pass:secret", "-out", encrypted)

    with pytest.raises(ConfigurationError, match=r"lock\.key_file.*: it is encrypted, damaged"):
        check([spec(http, **files | {"key_file": str(encrypted)})])


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_demands_a_certificate_names_the_keys(tmp_path: Path, version: ssl.TLSVersion) -> None:
    (tmp_path / "of-another").mkdir()
    made, files = certified(tmp_path), {}
    other = files_of(tmp_path / "of-another")
    with demanding(made, version) as at:
        with pytest.raises(ConfigurationError, match=r"client certificate|lock\.cert_file"):
            check([spec(at, "redis", str(made.authority))])
        files = {"cert_file": other["cert_file"], "key_file": other["key_file"]}
        with pytest.raises(ConfigurationError, match=r"the certificate of lock\.cert_file"):
            check([spec(at, "redis", str(made.authority), **files)])
        files = {"cert_file": str(made.certificate), "key_file": str(made.key)}
        check([spec(at, "redis", str(made.authority), **files)])


@pytest.mark.parametrize(
    ("server", "its_own", "remedy"),
    [
        ({"days": -1}, True, "certificate has expired; replace it"),
        ({"names": "DNS:elsewhere.example"}, True, r"IP address mismatch.*; its name must be the one in lock\.servers"),
        ({}, False, r"; lock\.ca_file must contain the root certificate of its chain"),
    ],
    ids=["expired", "another name", "another authority"],
)  # fmt: skip
def test_a_certificate_that_is_not_accepted_is_named_with_the_remedy(
    tmp_path: Path, server: dict[str, Any], its_own: bool, remedy: str
) -> None:
    (tmp_path / "of-another").mkdir()
    made, other = certified(tmp_path, **server), certified(tmp_path / "of-another")
    trusted = (made if its_own else other).authority
    with demanding(made, ssl.TLSVersion.TLSv1_3) as at, pytest.raises(ConfigurationError, match=remedy + "$"):
        check([spec(at, "redis", str(trusted))])


def files_of(folder: Path) -> dict[str, str]:
    """An authority, and a certificate of it with its key."""
    made = certified(folder)
    return {"ca_file": str(made.authority), "cert_file": str(made.certificate), "key_file": str(made.key)}


@contextmanager
def demanding(certificates: Certificates, version: ssl.TLSVersion) -> Iterator[Address]:
    """A server that answers PING over TLS, to clients with a certificate of the same authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(certificates.certificate, certificates.key)
    context.load_verify_locations(certificates.authority)
    context.verify_mode = ssl.CERT_REQUIRED

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(1 << 16)
            secured.sendall(b"+PONG\r\n")

    with listening(serve) as at:
        yield at_port(at)
