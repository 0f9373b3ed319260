"""Which targets run: selected by words, changed with `--set` or [vary], and as unfenced copies."""

import tomllib
from pathlib import Path

import pytest

from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.nemesis.pause import PauseSpec
from harness.spec import Target, load
from harness.spec.overrides import unfenced_overrides
from harness.spec.reading import load_text, of_seed, shipped
from harness.spec.selection import targets
from harness.spec.toml import changed_in, dumps, head_comment
from tests.support.target_files import SMALL, errors_of

SECOND = NS["s"]


def test_an_override_is_a_toml_value_or_a_string() -> None:
    overrides = [
        "lock.ttl=3s",
        "workload.clients = 10",
        'expect=["stale-write"]',
        'faults=[{kind="pause",target="holder",at="acquired",lasts="1 ttl"}]',
        "faults.0.target=client:7",
    ]
    target = load_text(SMALL, "t.toml", overrides)

    assert target.lock.ttl == 3 * SECOND
    assert target.workload.clients == 10
    assert target.expected == ("stale-write",)
    assert target.faults[0].target == "client:7"


def test_the_source_of_an_overridden_target_gives_the_same_target(tmp_path: Path) -> None:
    target = load("etcd-postgres-partition", ["lock.ttl=3s", "name=an-other"])
    again = tmp_path / "again.toml"
    again.write_text(target.source)

    assert load(again) == target
    assert '# changed with --set: lock.ttl = "3s"' in target.source


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("lock.ttl", "--set lock.ttl: write it as key=value, such as workload.clients=10"),
        ("=3", "--set =3: write it as key=value, such as workload.clients=10"),
        ("name.first=x", "--set name.first=x: the target has no such key"),
        ("faults.9.at=acquired", "--set faults.9.at=acquired: the target has no such key"),
        ("workload.clients.x=3", "--set workload.clients.x=3: the target has no such key"),
        (
            "workload.writes.x=3",
            "--set workload.writes.x=3: workload.writes: must be a whole number without quotes, such as 3",
        ),
        (
            "lock.ttl=1s",
            '--set lock.ttl=1s: lock.ttl = "1s": must be at least 2s: etcd grants no shorter lease',
        ),
        ("lock.tll=3s", '--set lock.tll=3s: lock.tll = "3s": unknown key in [lock]; did you mean ttl?'),
    ],
)
def test_an_error_of_an_override_names_the_option(override: str, error: str) -> None:
    assert errors_of("etcd-postgres", override) == [error]


def test_the_errors_of_all_overrides_are_reported_together() -> None:
    assert errors_of(
        "etcd-postgres", "workload.clients=ten", "lock.tll=3s", "faults.3.at=acquired", "lock.ttl"
    ) == [
        "--set faults.3.at=acquired: the target has no such key",
        "--set lock.ttl: write it as key=value, such as workload.clients=10",
        '--set lock.tll=3s: lock.tll = "3s": unknown key in [lock]; did you mean ttl?',
        '--set workload.clients=ten: workload.clients = "ten": must be a whole number without quotes, such as 3',
    ]


def test_an_override_with_invalid_toml_is_refused() -> None:
    (error,) = errors_of("etcd-postgres", "expect=[1")

    assert error.startswith("--set expect=[1: is not a TOML value")


def test_written_toml_reads_as_the_same_data() -> None:
    data = {
        "text": 'quotes " and \\ and\nlines é \x7f',
        "number": -3,
        "ratio": 1.5,
        "yes": True,
        "list": [1, [2], {"a b": "c"}],
        "table": {"x": 1, "deep": {"y": 2}},
        "tables": [{"z": 1, "w": {"v": 2}}, {"z": 2}],
    }

    assert tomllib.loads(dumps(data)) == data


def test_an_overridden_target_keeps_its_text_and_lists_the_changes(tmp_path: Path) -> None:
    target = load("etcd-postgres-append", ["workload.duration=6s", "faults.0.at=write-sent"])
    again = tmp_path / "again.toml"
    again.write_text(target.source)
    twice = load(again, ["workload.duration=7s", "lock.nodes=1"]).source

    assert head_comment(target.source).startswith("A fence alone does not protect a read-modify-write")
    assert dict(changed_in(target.source)) == {"workload.duration": '"6s"', "faults.0.at": '"write-sent"'}
    assert head_comment(twice) == head_comment(target.source)
    assert dict(changed_in(twice)) == dict(changed_in(target.source)) | {
        "workload.duration": '"7s"',
        "lock.nodes": "1",
    }


def test_a_listed_change_stays_in_one_comment_line() -> None:
    source = load("etcd-postgres", ['client.command=["a\\nb = 1", "' + "x" * 5000 + '"]']).source

    (change,) = changed_in(source)
    assert change[0] == "client.command"
    assert len(change[1]) < 300


def test_a_link_out_of_a_folder_of_targets_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("key = s3cr3t\n")
    folder = tmp_path / "received"
    folder.mkdir()
    (folder / "a.toml").write_text(SMALL)
    (folder / "b.toml").symlink_to("../credentials")
    (folder / "c.toml").symlink_to("/dev/zero")

    with pytest.raises(ConfigurationError) as error:
        targets([str(folder)])

    assert error.value.lines == (
        f"{folder}/b.toml is a link out of its folder; name the file that it leads to: {tmp_path}/credentials",
        f"{folder}/c.toml is a link out of its folder; name the file that it leads to: /dev/zero",
    )


def test_a_link_to_a_file_of_the_same_folder_is_followed(tmp_path: Path) -> None:
    """Kubernetes puts the files of a volume into a folder of their own, and links to them."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data/a.toml").write_text(SMALL)
    (tmp_path / "a.toml").symlink_to("..data/a.toml")
    (tmp_path / "circle.toml").symlink_to("circle.toml")

    assert targets([str(tmp_path)]).names == (f"{tmp_path}/a.toml", f"{tmp_path}/circle.toml")


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.toml").write_text(SMALL)
    (tmp_path / "folder/mine.toml").symlink_to("../a.toml")
    (tmp_path / "link").symlink_to("folder")

    assert targets([str(tmp_path / "folder/mine.toml")]).names == (f"{tmp_path}/folder/mine.toml",)


def test_the_copy_differs_in_its_name_its_fence_and_what_it_expects() -> None:
    target = load("etcd-postgres")

    copy = load("etcd-postgres", unfenced_overrides(target))

    assert (copy.name, copy.expected, copy.storage.fencing) == (
        "etcd-postgres-unfenced",
        ("stale-write",),
        "none",
    )
    assert (copy.lock, copy.workload, copy.faults) == (target.lock, target.workload, target.faults)


def test_a_copy_with_appends_may_lose_updates_and_never_fences() -> None:
    target = load("etcd-postgres-append-fence-on-acquire")

    copy = load("etcd-postgres-append-fence-on-acquire", unfenced_overrides(target))

    assert copy.may == ("lost-update",)
    assert not copy.storage.fence_on_acquire


def test_an_unfenced_target_has_no_copy() -> None:
    with pytest.raises(
        ConfigurationError, match=r'etcd-postgres-unfenced: storage\.fencing is "none" already'
    ):
        unfenced_overrides(load("etcd-postgres-unfenced"))


@pytest.mark.parametrize("name", sorted(shipped().keys() - {"s3-s3-kill"}))
def test_every_fenced_target_that_ships_has_a_copy(name: str) -> None:
    target = load(name)
    if target.fenced:
        assert not load(name, unfenced_overrides(target)).fenced


PAUSE = '\n[[faults]]\nkind = "pause"\ntarget = "holder"\nat = "acquired"\nuntil = "superseded"\n'
VARY = """
[vary]
"lock.ttl" = ["2s", "3s"]
workload.clients = [3, 5, 8]
"faults.0.at" = ["acquired", "before-write"]
"""


def varying(vary: str, text: str = SMALL) -> Target:
    return load_text(text + PAUSE + vary, "t.toml")


def drawn(target: Target) -> tuple[int, int, object]:
    (fault,) = target.faults
    assert isinstance(fault, PauseSpec)
    return target.lock.ttl, target.workload.clients, fault.at


def test_a_seed_draws_the_same_values_each_time() -> None:
    target = varying(VARY)

    assert of_seed(target, 7) == of_seed(varying(VARY), 7)
    assert of_seed(target, 7).source == of_seed(target, 7).source


def test_seeds_draw_every_combination() -> None:
    target = varying(VARY)

    seen = {drawn(of_seed(target, seed)) for seed in range(200)}

    ends = ("acquired", "before-write")
    assert seen == {(ttl * NS["s"], clients, at) for ttl in (2, 3) for clients in (3, 5, 8) for at in ends}


def test_another_key_does_not_change_what_a_seed_draws() -> None:
    more = varying(VARY + '"workload.resources" = [1, 2]\n')

    assert all(drawn(of_seed(varying(VARY), seed)) == drawn(of_seed(more, seed)) for seed in range(20))


def test_the_drawn_target_is_complete_and_names_its_seed() -> None:
    target = of_seed(varying(VARY, f"# Small.\n{SMALL}"), 7)

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
    target = varying("")

    assert of_seed(target, 7) is target


@pytest.mark.parametrize(
    ("vary", "error"),
    [
        ('"lock.ttl" = "2s"', 'vary.lock.ttl = "2s": must be a list of values, such as ["2s", "3s"]'),
        ("lock.ttl = []", 'vary.lock.ttl = []: must be a list of values, such as ["2s", "3s"]'),
        ('"lock.tll" = ["2s"]', "unknown key in [lock]; did you mean ttl?"),
        ('"lock.ttl" = ["2s", "2500ms"]', 'lock.ttl = "2500ms": must be'),
        ('"lock.ttl" = ["2s", "10s"]', 'lock.ttl = "10s": is too long for a run of 20s: with faults'),
        ('"faults.3.at" = ["acquired"]', "the target has no such key"),
        ('"name" = ["a", "b"]', "cannot vary: name is the same in all runs of a target"),
        ('"storage.password" = ["A", "B"]', "password = ***: cannot vary: it is a password"),
    ],
)
def test_every_error_has_its_place(vary: str, error: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        varying(f"\n[vary]\n{vary}\n")

    (line,) = str(caught.value).splitlines()
    place = f"t.toml:{(SMALL + PAUSE).count(chr(10)) + 3}: vary."
    assert line.startswith(place)
    assert error in line


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        varying('\n[vary]\n"lock.ttl" = ["1s", "2500ms"]\n"workload.clients" = [1, 3]\nname = ["a"]\n')

    assert [line.partition(" = ")[0] for line in str(caught.value).splitlines()] == [
        "t.toml:18: vary.lock.ttl",
        "t.toml:18: vary.lock.ttl",
        "t.toml:19: vary.workload.clients",
        "t.toml:20: vary.name",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f'{SMALL}\n[vary]\n"faults.0.at" = ["acquired"]\n',
            r"vary\.faults\.0\.at = .*: the target has no such key",
        ),
        (f"vary = 3\n{SMALL}", "vary = 3: must be a table: "),
    ],
)
def test_what_is_not_there_and_what_is_no_table_cannot_vary(text: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        load_text(text, "t.toml")


def test_values_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"with lock\.ttl = .7s., workload.duration = .20s.: "):
        varying(
            '\n[vary]\n"lock.ttl" = ["2s", "7s"]\n"workload.duration" = ["30s", "20s"]\n',
            f'{SMALL}\n[workload]\nduration = "30s"\n',
        )


@pytest.mark.parametrize(
    ("entries", "combinations"),
    [
        ('"workload.clients" = [' + "2, " * 10_000 + "]", "10,000"),
        ("\n".join(f"k{number} = [1, 2]" for number in range(4_000)), "more than a billion"),
        (f'"workload.clients" = {[*range(2, 32)]}\n"workload.resources" = {[*range(1, 11)]}', "300"),
    ],
    ids=["values", "keys", "both"],
)
def test_combinations_are_counted(entries: str, combinations: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.spec.vary._impossible", None)

    with pytest.raises(ConfigurationError, match=f"vary: has {combinations} combinations; at most 256"):
        varying(f"\n[vary]\n{entries}\n")
