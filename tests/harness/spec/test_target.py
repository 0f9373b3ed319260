"""Reading target files, and reporting every error with its place."""

import os
import textwrap
import tomllib
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from harness.cli import schemas
from harness.core.duration import NS, Span
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.spec import load, shipped
from harness.spec.fields import OWN
from harness.spec.locks import LOCKS
from harness.spec.storages import STORAGES
from harness.spec.toml import head_comment, lines_of_keys
from tests.support.target_files import PAUSE, SMALL, errors_in, errors_of, read

SECOND = NS["s"]


def test_a_small_file_gets_defaults() -> None:
    target = read(SMALL)

    assert (target.lock.nodes, target.lock.ttl) == (3, 2 * SECOND)
    assert target.storage.policy == "strict"
    assert (target.workload.clients, target.workload.resources) == (5, 2)
    assert target.expected == ()
    assert target.faults == ()
    assert target.require == {"stale_writes_attempted": 1}
    assert target.source == SMALL


def test_faults_are_distinguished_by_kind() -> None:
    target = read(
        SMALL
        + """
            [[faults]]
            kind = "pause"
            target = "holder"
            at = "before-write"
            lasts = "1.5 ttl"

            [[faults]]
            kind = "partition"
            target = "client:2"
            from = "lock"
            direction = "to-server"
            every = "8s"
            lasts = "2s"
            """.replace("            ", "")
    )

    pause, partition = target.faults
    assert isinstance(pause, PauseSpec)
    assert pause.lasts == Span(ttls=1.5)
    assert isinstance(partition, PartitionSpec)
    assert (partition.side, partition.direction) == ("lock", "to-server")


def test_another_minimum_does_not_replace_the_default_one() -> None:
    assert read(SMALL + "[require]\ngrants = 3\n").require == {"stale_writes_attempted": 1, "grants": 3}
    assert read(SMALL + "[require]\nstale_writes_attempted = 0\n").require == {"stale_writes_attempted": 0}


@pytest.mark.parametrize(
    ("policy", "writes", "most"), [("strict", "", 1), ("inclusive", "", 3), ("inclusive", 2, 2)]
)
def test_a_strict_fence_gets_one_write_per_hold(policy: str, writes: int | str, most: int) -> None:
    text = f'{SMALL}policy = "{policy}"\n[workload]\n' + (f"writes = {writes}\n" if writes else "")

    assert read(text).most_writes == most


def test_all_errors_are_reported_with_line_value_and_suggestion() -> None:
    text = """\
        name = "a b"
        expcet = "valid"
        expect = ["stale-wirte"]
        [lock]
        kind = "etdc"
        ttl = "1s"
        [storage]
        kind = "postgres"
        fencing = "conditional_update"
        [workload]
        clients = 500
        cleints = 5
        duration = 20
        [[faults]]
        kind = "pasue"
        [[faults]]
        kind = "partition"
        target = "hodler"
        every = "2s"
        lasts = "4s"
        frm = "lock"
        [require]
        stale_write_attempted = 1
        pauses = -1
        """

    assert errors_in(text) == [
        't.toml:1: name = "a b": must be 1 to 80 letters, digits, dots, underscores or hyphens, a letter or digit first',
        't.toml:2: expcet = "valid": unknown key in a target; did you mean expect?',
        't.toml:3: expect = ["stale-wirte"]: unknown anomaly stale-wirte; did you mean stale-write?',
        't.toml:5: lock.kind = "etdc": there is no such kind; did you mean etcd?',
        't.toml:6: lock.ttl = "1s": must be at least 2s: etcd grants no shorter lease',
        't.toml:9: storage.fencing = "conditional_update": must be "none", "conditional-update", "select-for-update" or "upsert"; did you mean conditional-update?',
        "t.toml:11: workload.clients = 500: must be at most 200",
        "t.toml:12: workload.cleints = 5: unknown key in [workload]; did you mean clients?",
        't.toml:13: workload.duration = 20: must be a duration with a unit, such as "2s", "1500ms" or "2m"',
        "t.toml:14: faults.0.target: is missing",
        't.toml:15: faults.0.kind = "pasue": there is no such kind; did you mean pause?',
        't.toml:18: faults.1.target = "hodler": must be a client ("holder", "holder:r0" or "client:0") or a member of a cluster ("lock:leader" or a name such as "etcd-2")',
        't.toml:20: faults.1.lasts = "4s": must be shorter than every: 4s is not less than 2s',
        't.toml:21: faults.1.frm = "lock": unknown key in this fault; did you mean from?',
        "t.toml:23: require.stale_write_attempted = 1: unknown coverage stale_write_attempted; did you mean stale_writes_attempted?",
        "t.toml:24: require.pauses = -1: must be at least 0",
    ]


def test_values_of_the_wrong_type_are_refused_not_converted() -> None:
    text = """\
        expect = []
        may = "stale-read"
        lock = "etcd"
        storage = []
        faults = [{kind = "pause", target = 3}, 5, {at = "acquired"}]
        [workload]
        clients = true
        writes = 2.5
        """

    assert errors_in(text) == [
        't.toml: name: is missing, such as name = "mylock"',
        't.toml:1: expect = []: must be "valid", or a list of anomalies that must be found, such as ["stale-write"]',
        't.toml:2: may = "stale-read": must be a list in brackets, such as ["a", "b"]',
        't.toml:3: lock = "etcd": must be a table: write its name in brackets, and its keys below',
        "t.toml:4: storage = []: must be a table: write its name in brackets, and its keys below",
        't.toml:5: faults.0.target = 3: must be a text in quotes: "…"',
        "t.toml:5: faults.1 = 5: must be a table, such as [[faults]]",
        "t.toml:5: faults.2: has no kind; there are: pause, partition, delay, slow, kill, stop, throttle, failover, clock, script",
        "t.toml:5: faults.2.target: is missing",
        "t.toml:7: workload.clients = true: must be a whole number without quotes, such as 3",
        "t.toml:8: workload.writes = 2.5: must be a whole number without quotes, such as 3",
    ]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ('until = "superseded"', "give at, or every"),
        ('at = "acquired"\nevery = "8s"\nlasts = "1s"', "give at, or every"),
        ('at = "acquired"', 'give until = "superseded", or lasts'),
        ('at = "acquired"\nuntil = "superseded"\nlasts = "1s"', 'give until = "superseded", or lasts'),
        ('every = "8s"\nuntil = "superseded"', "give lasts, not until"),
    ],
)
def test_a_pause_starts_and_ends_in_one_way(fault: str, problem: str) -> None:
    (error,) = errors_in(SMALL + PAUSE + fault)

    assert error.startswith("t.toml:10: faults.0: ")
    assert error.endswith(problem)


def test_a_fault_of_unknown_kind_still_counts_as_a_fault() -> None:
    fault = '[[faults]]\nkind = "pasue"\ntarget = "holder"\nhazards = "all"\n'

    (error,) = errors_in(SMALL + fault + "[require]\npauses = 1\n")

    assert "did you mean pause?" in error


def test_faults_in_single_brackets_are_refused_with_the_remedy() -> None:
    (error,) = errors_in(SMALL + '[faults]\nkind = "pause"\n')

    assert (
        error == "t.toml:10: faults: must be a list of tables: write [[faults]], in two brackets, above each"
    )


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(SMALL, encoding="utf-8-sig")

    assert load(file).source == SMALL


def test_a_path_that_is_not_a_file_is_described(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to("gone.toml")
    os.mkfifo(tmp_path / "pipe")

    assert errors_of(tmp_path / "link.toml") == ["link.toml is a link to gone.toml, which does not exist"]
    assert errors_of(tmp_path / "pipe") == ["pipe is not a regular file: a target is a TOML file"]
    assert errors_of("/dev/null") == ["null is not a regular file: a target is a TOML file"]
    assert errors_of(f"{tmp_path}/.")[0].endswith(" is a folder, not a target file")
    assert errors_of("") == ["the name of a target is empty; `fencepost targets` lists the shipped ones"]


OURS = "fencepost/etcd-3"


@pytest.mark.parametrize(
    ("section", "setting", "why"),
    [
        (
            "storage",
            'image = "post gres"',
            'must be the name of an image, without spaces, such as "postgres:18"',
        ),
        ("storage", f'image = "{OURS}.3"', f"Fencepost has no image {OURS}.3; did you mean {OURS}.4?"),
        ("lock", 'version = "3.4.30"', 'must be a release of etcd from 3.5.0, such as "3.6.7"'),
    ],
)
def test_an_image_or_release_that_cannot_be_is_refused(section: str, setting: str, why: str) -> None:
    (error,) = errors_in(SMALL.replace(f"[{section}]", f"[{section}]\n{setting}"))

    assert error.endswith(why)


def test_a_target_is_listed_before_its_variants() -> None:
    names = list(shipped())

    assert names.index("etcd-postgres") < names.index("etcd-postgres-inclusive")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name = \n", "t.toml:1: invalid TOML: Invalid value: name ="),
        ('name = "a"\nname = "b"\n', 't.toml:2: invalid TOML: Cannot overwrite a value: name = "b"'),
        ("[a.b]\n[a.b]\n", "t.toml:2: invalid TOML: Cannot declare a.b twice: [a.b]"),
        ("[lock\n", "t.toml:1: invalid TOML: Expected ']' at the end of a table declaration: [lock"),
        ("a = [1,\n", "t.toml:1: invalid TOML: Invalid value: a = [1,"),
    ],
)
def test_a_syntax_error_is_reported_with_its_line(text: str, error: str) -> None:
    assert errors_in(text) == [error]


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_bytes(b"\xff\xfe\x00")

    assert errors_of(file) == ["t.toml: is not UTF-8 text: a target or a campaign is a TOML file"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n[workload]\nclients = 99999999999999999999\n", 3),
        ("[[faults]]\n\n[[faults]]\nkind = {a = [1, 99999999999999999999]}\n", 4),
    ],
)
def test_a_number_beyond_64_bits_is_refused_with_its_line(text: str, line: int) -> None:
    assert errors_in(text) == [f"t.toml:{line}: a number is beyond 64 bits"]


def test_an_empty_file_lacks_everything_that_has_no_default() -> None:
    assert errors_in("") == [
        't.toml: name: is missing, such as name = "mylock"',
        "t.toml: expect: is missing",
        "t.toml: lock: is missing",
        "t.toml: storage: is missing",
    ]


def test_a_misspelled_name_gets_a_suggestion() -> None:
    assert errors_of("etcd-postgres-unfence") == [
        "unknown target etcd-postgres-unfence; did you mean etcd-postgres-unfenced?"
    ]


def test_a_misspelled_path_gets_a_suggestion(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(SMALL)

    assert errors_of(file.with_name("tt.toml")) == ["there is no file tt.toml; did you mean t.toml?"]
    assert errors_of(file.with_name("zzz.toml")) == ["there is no file zzz.toml"]


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.schemas()["target"])


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_target_is_valid_and_named_like_its_file(name: str) -> None:
    path = shipped()[name]

    assert load(name).name == name
    assert path.read_text().startswith("#:schema ./schema.json\n# ")
    validator().validate(tomllib.loads(path.read_text()))


def test_the_line_of_a_key_is_found_however_it_is_written() -> None:
    text = textwrap.dedent(
        """\
        a = 1  # b = 2
        c.d = 2
        "e" = { f = 3 }

        [ g . h ]  # a comment
        i = 4
        [[j]]
        k = 5
        [[j]]
        k = 6
        [[j.l]]
        m = 7
        """
    )
    lines = lines_of_keys(text)

    assert lines["a",] == 1
    assert lines["c", "d"] == 2
    assert lines["e",] == 3
    assert lines["g", "h", "i"] == 6
    assert lines["j", 0, "k"] == 8
    assert lines["j", 1, "k"] == 10
    assert lines["j", 1, "l", 0, "m"] == 12


def test_a_class_gets_the_servers_that_it_asks_for() -> None:
    lock = LOCKS[OWN].model_validate({"kind": "mine:Lock", "server": "redis", "nodes": 2})
    storage = STORAGES[OWN].model_validate({"kind": "mine:Storage", "server": "postgres", "fencing": "mine"})

    assert (lock.system, lock.servers) == ("redis", ("redis-1", "redis-2"))
    assert (storage.system, storage.servers) == ("postgres", ("postgres",))


def test_the_head_comment_of_a_file_is_its_description() -> None:
    text = (
        "#:schema ./schema.json\n# The lock is etcd's,\n# the storage is not.\nname = 't'  # a name\n# more\n"
    )

    assert head_comment(text) == "The lock is etcd's, the storage is not."
    assert head_comment("name = 't'") == ""
