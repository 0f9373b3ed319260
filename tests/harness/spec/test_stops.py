"""Stops of clients in target files: valid and impossible combinations."""

import pytest

from harness.core.duration import NS, Span
from harness.nemesis.faults import hits_servers
from harness.nemesis.plan import plan
from harness.nemesis.stop import StopSpec
from tests.support.target_files import error_in, read

STOP = '[[faults]]\nkind = "stop"\n{}\n'
TTL = 2 * NS["s"]


def text(*lines: str, duration: str = "20s") -> str:
    return (
        'name = "t"\nexpect = ["stale-write"]\n[lock]\nkind = "etcd"\n[storage]\nkind = "postgres"\n'
        f'fencing = "none"\n[workload]\nduration = "{duration}"\n{STOP.format(chr(10).join(lines))}'
    )


def test_a_stop_is_read_with_its_grace() -> None:
    (fault,) = read(text('target = "holder:r0"', 'at = "acquired"', 'grace = "500ms"')).faults

    assert isinstance(fault, StopSpec)
    assert (fault.target, fault.at, fault.grace) == ("holder:r0", "acquired", NS["s"] // 2)
    assert fault.lasts == Span(ns=NS["s"] // 2)
    assert (hits_servers(fault), fault.aim(), fault.engine_need) == (False, (), None)


def test_a_stop_without_a_grace_has_three_seconds() -> None:
    (fault,) = read(text('target = "holder"')).faults

    assert fault.lasts == Span(ns=3 * NS["s"])


@pytest.mark.parametrize(("lines", "moments"), [((), 1), (('every = "5s"',), 4), (('at = "acquired"',), 0)])
def test_it_happens_once_or_in_each_interval_or_at_each_stop(lines: tuple[str, ...], moments: int) -> None:
    faults = read(text('target = "client:1"', *lines)).faults

    assert len(plan(faults, 1, TTL, 20 * NS["s"])[0].moments) == moments


@pytest.mark.parametrize(
    ("lines", "key", "said"),
    [
        (('target = "lock"',), "target", 'must be "holder"'),
        (('target = "client:9"',), "target", "does not exist"),
        (('target = "holder"', 'grace = "20s"'), "grace", "must be shorter than the run"),
        (('target = "holder"', 'grace = "5s"', 'every = "5s"'), "grace", "must be shorter than every"),
        (('target = "holder"', 'grace = "1 ttl"'), "grace", 'such as "2s"'),
        (('target = "holder"', 'at = "list-read"'), "at", "occurs only in the workload"),
        (('target = "holder"', 'at = "acquired"', 'when = "second-waiter"'), "when", "cannot be combined"),
    ],
)
def test_an_impossible_stop_is_refused_with_its_key(lines: tuple[str, ...], key: str, said: str) -> None:
    problem = error_in(text(*lines))

    assert f"faults.0.{key}" in problem
    assert said in problem
