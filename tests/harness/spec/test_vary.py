"""[vary]: settings drawn from the seed of a run."""

from __future__ import annotations

import pytest

from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.nemesis.pause import PauseSpec
from harness.spec import Target
from harness.spec.reading import load_text, of_seed
from tests.support.target_files import SMALL

PAUSE = '\n[[faults]]\nkind = "pause"\ntarget = "holder"\nat = "acquired"\nuntil = "superseded"\n'
VARY = """
[vary]
"lock.ttl" = ["2s", "3s"]
workload.clients = [3, 5, 8]
"faults.0.at" = ["acquired", "before-write"]
"""


def read(vary: str, text: str = SMALL) -> Target:
    return load_text(text + PAUSE + vary, "t.toml")


def drawn(target: Target) -> tuple[int, int, object]:
    (fault,) = target.faults
    assert isinstance(fault, PauseSpec)
    return target.lock.ttl, target.workload.clients, fault.at


def test_a_seed_draws_the_same_values_each_time() -> None:
    target = read(VARY)

    assert of_seed(target, 7) == of_seed(read(VARY), 7)
    assert of_seed(target, 7).source == of_seed(target, 7).source


def test_seeds_draw_every_combination() -> None:
    target = read(VARY)

    seen = {drawn(of_seed(target, seed)) for seed in range(200)}

    ends = ("acquired", "before-write")
    assert seen == {(ttl * NS["s"], clients, at) for ttl in (2, 3) for clients in (3, 5, 8) for at in ends}


def test_another_key_does_not_change_what_a_seed_draws() -> None:
    more = read(VARY + '"workload.resources" = [1, 2]\n')

    assert all(drawn(of_seed(read(VARY), seed)) == drawn(of_seed(more, seed)) for seed in range(20))


def test_the_drawn_target_is_complete_and_names_its_seed() -> None:
    target = of_seed(read(VARY, f"# Small.\n{SMALL}"), 7)

    again = load_text(target.source, "again.toml")
    assert not again.vary
    assert drawn(again) == drawn(target)
    assert target.source.startswith("# Small. Drawn with seed 7: lock.ttl = ")


@pytest.mark.parametrize("key", ["workload.clients", '"workload.clients"'])
def test_a_setting_of_the_command_line_varies_no_more(key: str) -> None:
    vary = f'[vary]\n"lock.ttl" = ["2s", "3s"]\n{key} = [3, 5]\n'
    target = load_text(SMALL + vary, "t.toml", ["workload.clients=8"])

    assert {of_seed(target, seed).workload.clients for seed in range(20)} == {8}
    assert {of_seed(target, seed).lock.ttl for seed in range(20)} == {2 * NS["s"], 3 * NS["s"]}


def test_a_target_that_does_not_vary_is_its_own() -> None:
    target = read("")

    assert of_seed(target, 7) is target


@pytest.mark.parametrize(
    ("vary", "error"),
    [
        ('"lock.ttl" = "2s"', 'vary.lock.ttl = "2s": must be a list of values, such as ["2s", "3s"]'),
        ("lock.ttl = []", 'vary.lock.ttl = []: must be a list of values, such as ["2s", "3s"]'),
        ('"lock.tll" = ["2s"]', "unknown key in [lock]; did you mean ttl?"),
        ('"lock.ttl" = ["2s", "2500ms"]', 'lock.ttl = "2500ms": must be'),
        ('"lock.ttl" = ["2s", "10s"]', 'with lock.ttl = "10s": workload.duration: is too short for faults'),
        ('"faults.3.at" = ["acquired"]', "the target has no such key"),
        ('"name" = ["a", "b"]', "cannot vary: name is the same in all runs of a target"),
        ('"storage.password" = ["A", "B"]', "password = ***: cannot vary: it is a password"),
    ],
)
def test_every_error_has_its_place(vary: str, error: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(f"\n[vary]\n{vary}\n")

    (line,) = str(caught.value).splitlines()
    place = f"t.toml:{(SMALL + PAUSE).count(chr(10)) + 3}: vary."
    assert line.startswith(place)
    assert error in line


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read('\n[vary]\n"lock.ttl" = ["1s", "2500ms"]\n"workload.clients" = [1, 3]\nname = ["a"]\n')

    assert [line.partition(" = ")[0] for line in str(caught.value).splitlines()] == [
        "t.toml:18: vary.lock.ttl",
        "t.toml:18: vary.lock.ttl",
        "t.toml:19: vary.workload.clients",
        "t.toml:20: vary.name",
    ]


def test_a_fault_that_is_not_there_cannot_vary() -> None:
    with pytest.raises(ConfigurationError, match=r"vary\.faults\.0\.at = .*: the target has no such key"):
        load_text(f'{SMALL}\n[vary]\n"faults.0.at" = ["acquired"]\n', "t.toml")


def test_values_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"with lock\.ttl = .7s., workload.duration = .20s.: "):
        read(
            '\n[vary]\n"lock.ttl" = ["2s", "7s"]\n"workload.duration" = ["30s", "20s"]\n',
            f'{SMALL}\n[workload]\nduration = "30s"\n',
        )


@pytest.mark.parametrize(
    ("entries", "combinations"),
    [
        ('"workload.clients" = [' + "2, " * 10_000 + "]", "10,000"),
        ("\n".join(f"k{number} = [1, 2]" for number in range(4_000)), "more than a billion"),
    ],
    ids=["values", "keys"],
)
def test_combinations_are_counted_first(
    entries: str, combinations: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.spec.vary._impossible", None)

    with pytest.raises(ConfigurationError, match=f"vary: has {combinations} combinations; at most 256"):
        read(f"\n[vary]\n{entries}\n")


def test_too_many_combinations_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="vary: has 300 combinations; at most 256"):
        read(f'\n[vary]\n"workload.clients" = {[*range(2, 32)]}\n"workload.resources" = {[*range(1, 11)]}\n')


def test_vary_is_a_table() -> None:
    with pytest.raises(ConfigurationError, match="vary = 3: must be a table: "):
        load_text(f"vary = 3\n{SMALL}", "t.toml")
