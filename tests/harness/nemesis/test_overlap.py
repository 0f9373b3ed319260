"""Sides of a target that faults reserve with `overlap = false`."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from harness.core.errors import ConfigurationError
from harness.nemesis.faults import FaultSpec, sides_hit
from harness.spec.reading import load_text

SIDES = {"lock": ("etcd-1", "etcd-2", "etcd-3"), "storage": ("postgres",)}
EVERY = {"every": "8s", "lasts": "1s"}


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        ({"kind": "pause", "target": "holder", "at": "acquired", "lasts": "1s"}, {"clients"}),
        ({"kind": "pause", "target": "lock:leader", **EVERY}, {"lock"}),
        ({"kind": "kill", "target": "postgres", **EVERY}, {"storage"}),
        ({"kind": "partition", "target": "etcd-2", **EVERY}, {"lock"}),
        ({"kind": "partition", "target": "etcd-2", "with": "holder", **EVERY}, {"clients", "lock"}),
        ({"kind": "partition", "target": "holder", "from": "lock", **EVERY}, {"clients", "lock"}),
        ({"kind": "delay", "target": "holder", "to": "both", **EVERY}, {"clients", "lock", "storage"}),
    ],
)
def test_a_fault_hits_the_clients_or_the_sides_of_its_servers(fault: Any, hit: set[str]) -> None:
    spec = TypeAdapter(FaultSpec).validate_python(fault)

    assert sides_hit(spec, SIDES) == {f"side:{side}" for side in hit}


TARGET = """
name = "t"
expect = "valid"
overlap = false
[lock]
kind = "etcd"
[storage]
kind = "postgres"
fencing = "upsert"
[[faults]]
kind = "kill"
target = "holder"
at = "acquired"
[[faults]]
"""


def test_nothing_on_clients_can_follow_the_kill_of_one() -> None:
    pause = 'kind = "pause"\ntarget = "client:0"\nat = "acquired"\nlasts = "1s"'

    with pytest.raises(ConfigurationError, match="overlap = false: leaves no time"):
        load_text(TARGET + pause, "t.toml")


def test_servers_may_be_hit_while_a_client_is_dead() -> None:
    kill = 'kind = "kill"\ntarget = "storage"\nevery = "8s"\nlasts = "1s"'

    assert not load_text(TARGET + kill, "t.toml").overlap
