"""The check of servers that already run, before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.engines.attached import check
from harness.network.ports import free_addresses
from harness.network.topology import Address, AttachedSpec
from tests.support.http_servers import answer, answering


def spec(address: Address, system: str = "etcd", ca_file: str = "") -> AttachedSpec:
    return AttachedSpec(name="etcd-1", system=system, address=address, ca_file=ca_file, key="lock.servers")


def at_port(endpoint: str) -> Address:
    host, _, port = endpoint.partition(":")
    return Address(host, int(port))


@pytest.fixture
def http() -> Any:
    """The address of a server that answers HTTP, but is not etcd."""
    with answering(answer({"hello": "world"}), answer({})) as (at, _):
        yield at_port(at)


def test_a_server_that_nothing_reaches_is_an_infrastructure_failure() -> None:
    (nowhere,) = free_addresses(1)

    with pytest.raises(ServerNotReadyError, match=f"lock.servers: {nowhere} cannot be reached"):
        check([spec(nowhere)])


def test_a_name_that_does_not_exist_is_an_infrastructure_failure() -> None:
    with pytest.raises(ServerNotReadyError, match="cannot be reached"):
        check([spec(Address("no-such-host.invalid", 1))])


def test_a_server_of_another_kind_is_a_wrong_configuration(http: Address) -> None:
    with pytest.raises(
        ConfigurationError, match=r"not etcd: check lock\.servers; if it speaks TLS, give lock\.ca_file"
    ):
        check([spec(http)])


def test_endpoints_of_an_unknown_protocol_need_only_listen(http: Address) -> None:
    check([spec(http, system="")])


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), ("text", "no certificate in PEM")])
def test_a_wrong_authority_is_a_wrong_configuration(
    http: Address, tmp_path: Path, content: Any, why: str
) -> None:
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)

    with pytest.raises(ConfigurationError, match=why):
        check([spec(http, ca_file=str(file))])


@pytest.fixture
def authority(tmp_path: Path) -> str:
    from tests.support.certificates import certified

    return str(certified(tmp_path).authority)


@pytest.mark.parametrize(("system", "said"), [("etcd", answer({"etcdserver": "3.5.16"})), ("postgres", b"N")])
def test_a_server_without_tls_is_a_wrong_configuration(authority: str, system: str, said: bytes) -> None:
    with (
        answering(said) as (at, _),
        pytest.raises(ConfigurationError, match=r"speaks no TLS: remove lock\.ca_file"),
    ):
        check([spec(at_port(at), system=system, ca_file=authority)])


@pytest.mark.parametrize("system", ["etcd", "postgres"])
def test_another_kind_of_server_without_tls_is_not_taken_for_one(
    http: Address, authority: str, system: str
) -> None:
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
