"""One Toxiproxy server, through toxiproxy-python: a proxy for each edge, cut and healed.

What that library leaves to its callers is done here, and only here:

- Its server's address is state of a class, shared by the whole process: `_call` sets it
  around each request, under a lock.
- Its `Proxy` and `Toxiproxy` objects set no timeout and take an answer of 500 for success:
  so the calls go through its `APIConsumer`, which takes `timeout` and returns the response.
- HTTP_PROXY in the environment would catch the calls: an empty proxy for http wins over it.
- A change is believed once it was read back. Names hold the run's id, so that a change that
  reaches another run's server ends in "not found".

A cut edge is a `timeout` toxic of 0: it lets connections open and loses what is sent on them.
Taking it away closes those connections, as after a real partition that outlived TCP's patience.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from harness.engines import Address
from harness.errors import FaultNotInstalledError, InfrastructureError
from harness.network.topology import Direction, Edge

TIMEOUT = 2.0  # s; a change takes some 5 ms
NO_PROXY = {"http": ""}

Stream = Literal["upstream", "downstream"]
STREAMS: dict[Direction, frozenset[Stream]] = {
    "both": frozenset({"upstream", "downstream"}),
    "to-server": frozenset({"upstream"}),
    "to-client": frozenset({"downstream"}),
}

_consumer = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeState:
    """One edge's proxy, as its server shows it."""

    edge: Edge
    listen: Address  # as the Toxiproxy server sees it: inside its container
    upstream: Address
    enabled: bool
    cut: frozenset[Stream]  # where packets are lost; empty: none are

    def __str__(self) -> str:
        if not self.enabled:
            return "proxy disabled"
        return f"timeout toxic {'+'.join(sorted(self.cut, reverse=True))}" if self.cut else "no toxic"


@dataclass(frozen=True, slots=True)
class Toxiproxy:
    """The Toxiproxy server of one run.

    Every method raises InfrastructureError where the server does not answer, or says no.
    """

    api: Address
    run_id: str

    def answers(self) -> bool:
        """Look whether the server is up."""
        try:
            self.version()
        except InfrastructureError:
            return False
        return True

    def version(self) -> str:
        """Return such as "2.12.0"."""
        answer = self._call("get", "/version")
        return str(answer.json()["version"])

    def create(self, proxies: Mapping[Edge, tuple[Address, Address]]) -> dict[Edge, EdgeState]:
        """Create a proxy for each edge, from (listen, upstream), and read them back.

        A listen port of 0 lets the server choose one.
        """
        wanted = [
            {
                "name": edge.proxy_name(self.run_id),
                "listen": str(listen),
                "upstream": str(upstream),
                "enabled": True,
            }
            for edge, (listen, upstream) in proxies.items()
        ]
        self._call("post", "/populate", json=wanted)  # one request, where `populate()` makes two a proxy
        known = self._call("get", "/proxies").json()
        missing = [edge for edge in proxies if edge.proxy_name(self.run_id) not in known]
        if missing:
            raise InfrastructureError(
                f"Toxiproxy at {self.api} has no proxy for {missing[0]} after creating it"
            )
        return {edge: _edge_state(edge, known[edge.proxy_name(self.run_id)]) for edge in proxies}

    def state(self, edge: Edge) -> EdgeState:
        """Read one edge."""
        return _edge_state(edge, self._call("get", f"/proxies/{edge.proxy_name(self.run_id)}").json())

    def cut(self, edge: Edge, direction: Direction) -> EdgeState:
        """Lose what is sent on this edge, in this direction; FaultNotInstalledError if it does not show."""
        toxics = f"/proxies/{edge.proxy_name(self.run_id)}/toxics"
        for stream in STREAMS[direction]:
            toxic = {
                "name": _toxic(stream),
                "type": "timeout",
                "stream": stream,
                "attributes": {"timeout": 0},
            }
            self._call("post", toxics, json=toxic)
        return self._expect(edge, STREAMS[direction])

    def heal(self, edge: Edge) -> EdgeState:
        """Let everything through again; what was sent meanwhile is lost. A whole edge stays as it is."""
        for stream in self.state(edge).cut:
            self._call("delete", f"/proxies/{edge.proxy_name(self.run_id)}/toxics/{_toxic(stream)}")
        return self._expect(edge, frozenset())

    def _expect(self, edge: Edge, cut: frozenset[Stream]) -> EdgeState:
        state = self.state(edge)
        if state.cut != cut or not state.enabled:
            raise FaultNotInstalledError("partition", str(edge), f"Toxiproxy shows: {state}")
        return state

    def _call(self, method: Literal["get", "post", "delete"], url: str, **body: Any) -> requests.Response:
        with _consumer:
            APIConsumer.host, APIConsumer.port = self.api.host, self.api.port
            try:
                answer: requests.Response = getattr(APIConsumer, method)(
                    url, timeout=TIMEOUT, proxies=NO_PROXY, **body
                )
            except (requests.RequestException, InvalidToxic, NotFound, ProxyExists) as error:
                raise InfrastructureError(f"Toxiproxy at {self.api}: {method} {url}: {error}") from error
        if not answer.ok:
            said = f"{answer.status_code} {answer.text.strip()}"
            raise InfrastructureError(f"Toxiproxy at {self.api}: {method} {url}: it answered {said}")
        return answer


def _toxic(stream: Stream) -> str:
    return f"cut-{stream}"


def _edge_state(edge: Edge, proxy: dict[str, Any]) -> EdgeState:
    return EdgeState(
        edge=edge,
        listen=_address(proxy["listen"]),
        upstream=_address(proxy["upstream"]),
        enabled=proxy["enabled"],
        cut=frozenset(toxic["stream"] for toxic in proxy["toxics"] if toxic["type"] == "timeout"),
    )


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host.strip("[]"), int(port))
