"""Servers without a password: another user of the machine can change their data, and run nothing."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

from harness.engines.engine import Cluster
from harness.network.topology import Address
from tests.support.held import processes_of
from tests.support.other_user import ask_as


def post(path: str, fields: dict[str, Any]) -> bytes:
    """A request, after whose answer the connection ends."""
    body = json.dumps(fields)
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def answer(at: Address, method: str, path: str, fields: dict[str, Any] | None = None) -> tuple[int, bytes]:
    with closing(HTTPConnection(at.host, at.port, timeout=30)) as connection:
        connection.request(method, path, None if fields is None else json.dumps(fields))
        answered = connection.getresponse()
        return answered.status, answered.read()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_another_user_can_change_the_data_of_etcd(cluster: Cluster, other_user: int) -> None:
    at = next(each.address for each in cluster.servers if each.system == "etcd")
    key = encoded("of another user")

    said = ask_as(other_user, at, post("/v3/kv/put", {"key": key, "value": encoded("changed")}))

    assert said.startswith(b"HTTP/1.1 200 OK")
    _, found = answer(at, "POST", "/v3/kv/range", {"key": key})
    assert [each["value"] for each in json.loads(found)["kvs"]] == [encoded("changed")]


def test_another_user_can_add_a_proxy_to_toxiproxy(local_cluster: Cluster, other_user: int) -> None:
    assert local_cluster.toxiproxy
    at = local_cluster.toxiproxy.api
    proxy = {"name": "theirs", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", "enabled": False}

    said = ask_as(other_user, at, post("/proxies", proxy))

    assert said.startswith(b"HTTP/1.1 201 Created")
    assert answer(at, "GET", "/proxies/theirs")[0] == 200
    assert answer(at, "DELETE", "/proxies/theirs")[0] == 204


@pytest.mark.usefixtures("other_user")
def test_what_another_user_could_reach_does_not_run_as_root(local_cluster: Cluster) -> None:
    assert local_cluster.toxiproxy
    users = {each.name()[:15]: each.uids() for each in processes_of(local_cluster.toxiproxy.run_id)}

    assert any(name.startswith("toxiproxy") for name in users)
    assert "etcd" in users
    assert all(0 not in uids for uids in users.values())
