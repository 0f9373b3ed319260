"""One Toxiproxy server, through toxiproxy-python: a proxy for each edge and link.

The library leaves several things to its callers, which are all done here:

- Its server's address is class state, shared by the whole process: `_call` sets it
  around each request, under a lock.
- Its `Proxy` and `Toxiproxy` objects set no timeout and treat a status of 500 as success:
  so the calls go through its `APIConsumer`, which takes `timeout` and returns the response.
- HTTP_PROXY in the environment would apply to its calls: an empty proxy for http overrides it.
- It has no PATCH, which changes a proxy: we send that ourselves.
- A change counts once it was read back. Names contain the run's id, so that a change that
  reaches another run's server ends in "not found".

A cut edge has a `timeout` toxic of 0: connections open, but everything sent on them is lost.
Removing the toxic closes those connections, as after a real partition that outlasted TCP's timeouts.
A refusing edge is a disabled proxy; a resetting one has a `reset_peer` toxic, which ends each
connection with a reset once its client sends something.
A slow edge has a `bandwidth` toxic with a rate, a `latency` toxic with jitter, or both; a late link has
a `latency` toxic without jitter.
A held edge or link has a `bandwidth` toxic of 0: nothing gets through until it is removed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from harness.core.errors import FaultNotInstalledError, InfrastructureError
from harness.network.topology import Address, Direction, Entrance, Link, NetworkEdge, Way

if TYPE_CHECKING:
    from harness.network.tls_relay import Front

TIMEOUT = 2.0  # s; a change takes some 5 ms
NO_PROXY = {"http": ""}

Method = Literal["get", "post", "patch", "delete"]
ToxicKind = Literal["timeout", "bandwidth", "reset_peer", "latency"]
Stream = Literal["upstream", "downstream"]
Streams = frozenset[Stream]
STREAMS: dict[Direction, Streams] = {
    "both": frozenset({"upstream", "downstream"}),
    "to-server": frozenset({"upstream"}),
    "to-client": frozenset({"downstream"}),
}

AnyWay = TypeVar("AnyWay", NetworkEdge, Link, Entrance, Way)

_consumer = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class WayState:
    """The state of an edge's or link's proxy, as Toxiproxy shows it."""

    way: Way
    listen: Address  # as Toxiproxy sees it: inside its container
    upstream: Address
    enabled: bool
    cut: Streams = frozenset()  # the streams that lose data
    held: Streams = frozenset()  # the streams that hold data back
    reset: Streams = frozenset()  # the streams on which data resets the connection
    slow: Streams = frozenset()  # the streams with a low rate
    rate: int = 0  # KB/s
    late: Streams = frozenset()  # the streams on which data is late
    least: int = 0  # ms; how late at least
    spread: int = 0  # ms; how late at most

    def __str__(self) -> str:
        if not self.enabled:
            return "proxy disabled"
        latency = f"{self.spread}" if self.least == self.spread else f"{self.least} to {self.spread}"
        toxics = {
            "timeout": self.cut,
            "bandwidth 0": self.held,
            "reset_peer": self.reset,
            f"bandwidth {self.rate} KB/s": self.slow,
            f"latency {latency} ms": self.late,
        }
        shown = (
            f"{kind} toxic {'+'.join(sorted(streams, reverse=True))}"
            for kind, streams in toxics.items()
            if streams
        )
        return " and ".join(shown) or "no toxic"


@dataclass(frozen=True, slots=True)
class Toxiproxy:
    """The Toxiproxy server of one run, with that of its servers that were not started, if any.

    Every method raises InfrastructureError if the server does not answer, or answers with an error; one that
    changes a way raises FaultNotInstalledError if the change is not shown.
    """

    api: Address
    run_id: str
    others: Mapping[str, Toxiproxy] = field(default_factory=dict)  # by server: those with the ways to it
    fronts: Mapping[NetworkEdge, Front] = field(default_factory=dict)  # the TLS relay before edges, if any

    def answers(self) -> bool:
        """Does the server answer?"""
        try:
            self.version()
        except InfrastructureError:
            return False
        return True

    def version(self) -> str:
        """Return such as "2.12.0"."""
        return str(self._call("get", "/version").json()["version"])

    def create(self, proxies: Mapping[AnyWay, tuple[Address, Address]]) -> dict[AnyWay, WayState]:
        """Create a proxy for each way, from (listen, upstream), and read them back; port 0: any free one."""
        names = {way: way.proxy_name(self.run_id) for way in proxies}
        wanted = [
            {"name": names[way], "listen": str(listen), "upstream": str(upstream), "enabled": True}
            for way, (listen, upstream) in proxies.items()
        ]
        # In one request: the library's `populate()` makes two per proxy.
        self._call("post", "/populate", json=wanted)
        known = self._call("get", "/proxies").json()
        for way, name in names.items():
            if name not in known:
                raise InfrastructureError(f"Toxiproxy at {self.api} has no proxy for {way} after creating it")
        return {way: _state(way, known[name]) for way, name in names.items()}

    def state(self, way: Way) -> WayState:
        """Read the state of one edge or link."""
        return _state(way, self._ask(way, "get").json())

    def cut(self, way: Way, direction: Direction) -> WayState:
        """Lose everything sent in this direction."""
        self._add(way, "timeout", {"timeout": 0}, STREAMS[direction])
        return self._expect("partition", way, cut=STREAMS[direction])

    def hold(self, way: Way, direction: Direction = "both") -> WayState:
        """Hold data in this direction back until `heal` delivers it; connections stay open."""
        self._add(way, "bandwidth", {"rate": 0}, STREAMS[direction])
        return self._expect("hold", way, held=STREAMS[direction])

    def slow(self, way: Way, direction: Direction, *, rate: int = 0, spread: int = 0) -> WayState:
        """Let data through at a `rate` (KB/s), late by 0 to `spread` ms, until `heal`; 0: as it is."""
        streams, half = STREAMS[direction], spread // 2
        expected: dict[str, Any] = {}
        if rate:
            self._add(way, "bandwidth", {"rate": rate}, streams)
            expected |= {"slow": streams, "rate": rate}
        if half:
            self._add(way, "latency", {"latency": half, "jitter": half}, streams)
            expected |= {"late": streams, "spread": 2 * half}
        return self._expect("slow", way, **expected)

    def delay(self, way: Way, direction: Direction, by: int) -> WayState:
        """Let this direction through in order, late `by` ms, until `heal`; the other may be late, too."""
        late = self.state(way).late
        self._add(way, "latency", {"latency": by, "jitter": 0}, STREAMS[direction] - late)
        return self._expect("delay", way, late=STREAMS[direction] | late, least=by, spread=by)

    def reset(self, way: Way) -> WayState:
        """Reset each connection once its client sends something, until `heal`."""
        self._add(way, "reset_peer", {"timeout": 0}, STREAMS["to-server"])
        return self._expect("partition", way, reset=STREAMS["to-server"])

    def heal(self, way: Way) -> WayState:
        """Let everything through again; data lost in a cut stays lost. A healthy edge is not changed."""
        state = self.state(way)
        if not state.enabled:
            self.redirect(way, state.upstream)
        bandwidth = state.held | state.slow
        toxics = {
            "timeout": state.cut,
            "bandwidth": bandwidth,
            "reset_peer": state.reset,
            "latency": state.late,
        }
        for kind, streams in toxics.items():
            for stream in streams:
                self._ask(way, "delete", f"/toxics/{kind}-{stream}")
        if front := self._front(way):
            front.accept()
        return self._expect("partition", way)

    def close(self, way: Way) -> WayState:
        """Close every connection, and accept none."""
        if front := self._front(way):
            front.refuse()
        self._ask(way, "patch", json={"enabled": False})
        state = self.state(way)
        if state.enabled:
            raise FaultNotInstalledError("closing", str(way), f"Toxiproxy shows: {state}")
        return state

    def redirect(self, way: Way, upstream: Address) -> WayState:
        """Redirect a way, even a closed one."""
        self._ask(way, "patch", json={"upstream": str(upstream), "enabled": True})
        state = self.state(way)
        if state.upstream != upstream or not state.enabled:
            raise FaultNotInstalledError("redirection", str(way), f"it leads to {state.upstream}: {state}")
        return state

    def replace(self, way: Way, upstream: Address) -> WayState:
        """Recreate an edge's or link's proxy, to another server; data held on it is lost.

        It is not healed first: removing a bandwidth of 0 from a connection that one end has
        closed never returns.
        """
        listen = self.state(way).listen
        self._ask(way, "delete")
        return self._of(way).create({way: (listen, upstream)})[way]

    def renew(self, ways: Sequence[AnyWay]) -> None:
        """Recreate proxies as they were, which closes connections; FaultNotInstalledError if one is not."""
        before = {way: self.state(way) for way in ways}
        for way in ways:
            self._ask(way, "delete")
        after = self.create({way: (state.listen, state.upstream) for way, state in before.items()})
        for way, state in before.items():
            new = WayState(way=way, listen=state.listen, upstream=state.upstream, enabled=True)
            if after[way] != new:
                raise FaultNotInstalledError("end of all faults", str(way), f"Toxiproxy shows: {after[way]}")

    def _of(self, way: Way) -> Toxiproxy:
        return self.others.get(way.server, self)

    def _front(self, way: Way) -> Front | None:
        return self._of(way).fronts.get(way) if isinstance(way, NetworkEdge) else None

    def _ask(self, way: Way, method: Method, path: str = "", **body: Any) -> requests.Response:
        at = self._of(way)
        return at._call(  # noqa: SLF001 - another of its kind
            method, f"/proxies/{way.proxy_name(at.run_id)}{path}", **body
        )

    def _add(self, way: Way, kind: ToxicKind, attributes: Mapping[str, int], streams: Streams) -> None:
        for stream in streams:
            toxic = {"name": f"{kind}-{stream}", "type": kind, "stream": stream, "attributes": attributes}
            self._ask(way, "post", "/toxics", json=toxic)

    def _expect(self, fault: str, way: Way, **toxics: Any) -> WayState:
        """Read a way back, and compare it with an open one that has these toxics alone."""
        state = self.state(way)
        if state != WayState(way=way, listen=state.listen, upstream=state.upstream, enabled=True, **toxics):
            raise FaultNotInstalledError(fault, str(way), f"Toxiproxy shows: {state}")
        return state

    def _call(self, method: Method, url: str, **body: Any) -> requests.Response:
        try:
            answer = self._sent(method, url, **body)
        except (requests.RequestException, InvalidToxic, NotFound, ProxyExists) as error:
            raise InfrastructureError(f"Toxiproxy at {self.api}: {method} {url}: {error}") from error
        if not answer.ok:
            said = f"{answer.status_code} {answer.text.strip()}"
            raise InfrastructureError(f"Toxiproxy at {self.api}: {method} {url}: it answered {said}")
        return answer

    def _sent(self, method: Method, url: str, **body: Any) -> requests.Response:
        if method == "patch":
            return requests.patch(f"http://{self.api}{url}", timeout=TIMEOUT, proxies=NO_PROXY, **body)
        with _consumer:
            APIConsumer.host, APIConsumer.port = self.api.host, self.api.port
            answer: requests.Response = getattr(APIConsumer, method)(
                url, timeout=TIMEOUT, proxies=NO_PROXY, **body
            )
        return answer


def _state(way: Way, proxy: dict[str, Any]) -> WayState:
    def streams(kind: ToxicKind) -> Streams:
        return frozenset(toxic["stream"] for toxic in _toxics(proxy, kind))

    bandwidths = _toxics(proxy, "bandwidth")
    latencies = [toxic["attributes"] for toxic in _toxics(proxy, "latency")]
    return WayState(
        way=way,
        listen=_address(proxy["listen"]),
        upstream=_address(proxy["upstream"]),
        enabled=proxy["enabled"],
        cut=streams("timeout"),
        held=frozenset(toxic["stream"] for toxic in bandwidths if not toxic["attributes"]["rate"]),
        reset=streams("reset_peer"),
        slow=frozenset(toxic["stream"] for toxic in bandwidths if toxic["attributes"]["rate"]),
        rate=max((toxic["attributes"]["rate"] for toxic in bandwidths), default=0),
        late=streams("latency"),
        least=min((each["latency"] - each["jitter"] for each in latencies), default=0),
        spread=max((each["latency"] + each["jitter"] for each in latencies), default=0),
    )


def _toxics(proxy: dict[str, Any], kind: ToxicKind) -> list[dict[str, Any]]:
    return [toxic for toxic in proxy["toxics"] if toxic["type"] == kind]


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host.strip("[]"), int(port))
