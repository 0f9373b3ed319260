import json
import os
import textwrap
import tomllib
from pathlib import Path

import jsonschema
import pytest

from checkers.anomalies import COVERAGE
from harness import schemas
from harness.duration import NS, Span, format_duration, parse_duration, parse_span
from harness.errors import ConfigurationError
from harness.target import (
    PartitionSpec,
    PauseSpec,
    Target,
    WorkloadSpec,
    load,
    shipped,
)
from harness.target.fields import OWN
from harness.target.locks import LOCKS
from harness.target.storages import STORAGES
from harness.target.toml import changed_in, dumps, head_comment, lines_of_keys

SECOND = NS["s"]
SMALL = """\
name = "small"
expect = "valid"

[lock]
kind = "etcd"

[storage]
kind = "postgres"
fencing = "conditional-update"
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        file = tmp_path / "t.toml"
        file.write_text(textwrap.dedent(text))
        return file

    return write


def errors_of(path, *overrides):
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigurationError) as caught:
        load(path, overrides)
    return str(caught.value).replace(f"{Path(path).parent}/", "").splitlines()


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2s", 2 * SECOND),
        ("1500ms", 1_500_000_000),
        ("2m", 120 * SECOND),
        ("0.5 s", SECOND // 2),
        ("7us", 7_000),
    ],
)
def test_a_duration_is_read_as_nanoseconds(text, ns):
    assert parse_duration(text) == ns


@pytest.mark.parametrize("wrong", ["2", "", "s", "-1s", "2 ttl", "1e3s", "0s", 2, None, "2 s 3 ms"])
def test_what_is_no_duration_is_refused_with_an_example(wrong):
    with pytest.raises(ValueError, match="must be"):
        parse_duration(wrong)


def test_a_span_counted_in_ttls_follows_the_ttl():
    assert parse_span("1.5 ttl").resolve(2 * SECOND) == 3 * SECOND
    assert parse_span("3s").resolve(2 * SECOND) == 3 * SECOND
    assert parse_span("2ttl") == Span(ttls=2.0)


@pytest.mark.parametrize("text", ["2s", "1.5s", "20ms", "3us", "7ns", "120s"])
def test_a_duration_is_written_as_a_person_would(text):
    assert format_duration(parse_duration(text)) == text


def test_a_small_file_gets_defaults(write):
    target = load(write(SMALL))

    assert (target.lock.nodes, target.lock.ttl) == (3, 2 * SECOND)
    assert target.storage.policy == "strict"
    assert (target.workload.clients, target.workload.resources) == (5, 2)
    assert target.expected == ()
    assert target.faults == ()
    assert target.require == {"stale_writes_attempted": 1}
    assert target.source == SMALL


def test_faults_are_told_apart_by_their_kind(write):
    target = load(
        write(
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
    )

    pause, partition = target.faults
    assert isinstance(pause, PauseSpec)
    assert pause.lasts == Span(ttls=1.5)
    assert isinstance(partition, PartitionSpec)
    assert (partition.side, partition.direction) == ("lock", "to-server")


def test_a_minimum_that_is_set_leaves_the_default_one_in_force(write):
    assert load(write(SMALL + "[require]\ngrants = 3\n")).require == {
        "stale_writes_attempted": 1,
        "grants": 3,
    }
    assert load(write(SMALL + "[require]\nstale_writes_attempted = 0\n")).require == {
        "stale_writes_attempted": 0
    }


@pytest.mark.parametrize(
    ("policy", "writes", "most"), [("strict", "", 1), ("inclusive", "", 3), ("inclusive", 2, 2)]
)
def test_a_strict_fence_gets_one_write_a_hold(write, policy, writes, most):
    text = f'{SMALL}policy = "{policy}"\n[workload]\n' + (f"writes = {writes}\n" if writes else "")

    assert load(write(text)).most_writes == most


def test_every_error_is_told_at_once_with_its_line_its_value_and_a_guess(write):
    file = write(
        """\
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
    )

    assert errors_of(file) == [
        't.toml:1: name = "a b": must be 1 to 80 letters, digits, dots, underscores or hyphens, a letter or digit first',
        't.toml:2: expcet = "valid": unknown key in a target; did you mean expect?',
        't.toml:3: expect = ["stale-wirte"]: no anomaly is called stale-wirte; did you mean stale-write?',
        't.toml:5: lock.kind = "etdc": there is no such kind; did you mean etcd?',
        't.toml:9: storage.fencing = "conditional_update": must be "none", "conditional-update", "select-for-update" or "upsert"; did you mean conditional-update?',
        "t.toml:11: workload.clients = 500: must be less than or equal to 200",
        "t.toml:12: workload.cleints = 5: unknown key in [workload]; did you mean clients?",
        't.toml:13: workload.duration = 20: must be a length of time with its unit, such as "2s", "1500ms" or "2m"',
        't.toml:15: faults.0.kind = "pasue": there is no such kind; did you mean pause?',
        "t.toml:16: faults.1.from: is missing",
        't.toml:18: faults.1.target = "hodler": must be "holder", "holder:r0" (of that resource) or "client:0"',
        't.toml:20: faults.1.lasts = "4s": must be shorter than every: 4s is not within 2s',
        't.toml:21: faults.1.frm = "lock": unknown key in this fault; did you mean from?',
        "t.toml:23: require.stale_write_attempted = 1: no coverage is called stale_write_attempted; did you mean stale_writes_attempted?",
        "t.toml:24: require.pauses = -1: must be greater than or equal to 0",
    ]


def test_values_of_the_wrong_type_are_refused_not_converted(write):
    file = write(
        """\
        expect = []
        may = "stale-read"
        lock = "etcd"
        storage = []
        faults = [{kind = "pause", target = 3}, 5, {at = "acquired"}]
        [workload]
        clients = true
        writes = 2.5
        """
    )

    assert errors_of(file) == [
        "t.toml: name: is missing",
        't.toml:1: expect = []: must be "valid", or a list of what must be found, such as ["stale-write"]',
        't.toml:2: may = "stale-read": must be a list',
        't.toml:3: lock = "etcd": must be a table',
        "t.toml:4: storage = []: must be a table",
        "t.toml:5: faults.0.target = 3: must be a valid string",
        "t.toml:5: faults.1 = 5: must be a table, such as [[faults]]",
        "t.toml:5: faults.2: has no kind; there are: pause, partition, kill, failover, clock",
        "t.toml:7: workload.clients = true: must be a valid integer",
        "t.toml:8: workload.writes = 2.5: must be a valid integer",
    ]


PAUSE = '[[faults]]\nkind = "pause"\ntarget = "holder"\n'


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
def test_a_pause_starts_and_ends_in_one_way(write, fault, problem):
    (error,) = errors_of(write(SMALL + PAUSE + fault))

    assert error.startswith("t.toml:10: faults.0: ")
    assert error.endswith(problem)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            '[workload]\nclients = 3\n[[faults]]\nkind="pause"\ntarget="client:3"\nat="acquired"\nlasts="1s"',
            't.toml:14: faults.0.target = "client:3": does not exist: workload.clients is 3, so the last is client:2',
        ),
        (
            '[[faults]]\nkind="pause"\ntarget="holder:r2"\nat="acquired"\nlasts="1s"',
            't.toml:12: faults.0.target = "holder:r2": does not exist: workload.resources is 2, so the last is holder:r1',
        ),
        (
            '[[faults]]\nkind="partition"\ntarget="holder"\nfrom="lock"\nevery="3s"\nlasts="1.5 ttl"',
            't.toml:15: faults.0.lasts = "1.5 ttl": must be shorter than every: 3s is not within 3s',
        ),
        (
            '[[faults]]\nkind="pause"\ntarget="holder"\nevery="30s"\nlasts="3s"',
            't.toml:13: faults.0.every = "30s": is longer than the run: workload.duration is 20s',
        ),
        (
            '[workload]\nduration="5s"\n[[faults]]\nkind="pause"\ntarget="holder"\nat="acquired"\nlasts="1s"',
            't.toml:11: workload.duration = "5s": is too short for faults: lock.ttl is 2s, and a run needs at least 3 of them',
        ),
        (
            '[workload]\nduration="6s"\n[[faults]]\nkind="pause"\ntarget="holder"\nat="acquired"\nlasts="3 ttl"',
            't.toml:16: faults.0.lasts = "3 ttl": must be shorter than the run: workload.duration is 6s',
        ),
        (
            '[workload]\nduration="10s"\nthink="11s"',
            't.toml:12: workload.think = "11s": is longer than the run: workload.duration is 10s',
        ),
        (
            "[workload]\nwrites=2",
            't.toml:11: workload.writes = 2: must be 1: storage.policy "strict" accepts one write a token ("inclusive" accepts more)',
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(write, text, error):
    assert errors_of(write(SMALL + text)) == [error]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("[client]\ncommand = []", ["t.toml:11: client.command = []: must not be empty"]),
        ("[client]\ncommand = ['']", ["""t.toml:11: client.command.0 = "": must not be empty"""]),
        ("[client]\ncommand = 'app'", ["""t.toml:11: client.command = "app": must be a list"""]),
        (
            "[client]\ncomand = ['app']",
            [
                "t.toml:10: client.command: is missing",
                """t.toml:11: client.comand = ["app"]: unknown key in [client]; did you mean command?""",
            ],
        ),
    ],
)
def test_a_client_of_ones_own_needs_a_command(write, text, errors):
    assert errors_of(write(SMALL + text)) == errors


@pytest.mark.parametrize("side", ["lock", "storage"])
def test_what_a_program_uses_by_itself_needs_the_program(side):
    fencing = ', fencing="x"' if side == "storage" else ""

    errors = errors_of("etcd-postgres", "faults=[]", f'{side}={{kind="client"{fencing}}}')

    assert len(errors) == 1
    assert errors[0].endswith(f'{side}.kind = "client": needs the program: write [client] with its command')


def test_a_program_goes_with_servers_and_not_with_classes():
    client = 'client={command=["app", "x"]}'

    target = load("etcd-postgres", [client, 'lock={kind="client"}'])
    errors = errors_of("etcd-postgres", "faults=[]", client, 'lock={kind="mine:Lock"}')

    assert target.client.command == ("app", "x")
    assert (target.lock.servers, target.storage.servers) == ((), ("postgres",))
    assert len(errors) == 1
    assert 'lock.kind = "mine:Lock": is a class, and the program of [client] calls none' in errors[0]


def test_a_run_without_faults_may_be_too_short_for_them(write):
    fault = '[[faults]]\nkind="pause"\ntarget="holder"\nevery="8s"\nlasts="3 ttl"'
    file = write(f'{SMALL}[workload]\nduration="5s"\n{fault}')

    assert len(errors_of(file)) == 3
    assert load(file, faults=False).workload.duration == 5_000_000_000


@pytest.mark.parametrize("side", ["storage", "both"])
def test_nobody_can_be_cut_off_from_a_file(side):
    errors = errors_of("etcd-postgres-partition", "storage.kind=sqlite", f"faults.0.from={side}")

    assert errors[0].endswith(
        f'faults.0.from = "{side}": nobody can be cut off from storage.kind "sqlite": no server is started for it'
    )
    assert len(errors) == 3  # its other partitions ask for more than the lock, too


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            ['lock={kind="redis"}', "faults.2.at=acquired"],
            'lock.kind is "redis": it must be "etcd" or "etcd-lock"',
        ),
        (["lock.kind=etcd-lock", "lock.token=header-revision"], 'lock.token must be "create-revision"'),
        (["storage.policy=strict"], 'storage.policy = "strict": needs storage.policy "inclusive"'),
        (["storage.fence_on_acquire=true"], "from the moment that its lock is gone"),
        (["storage.image=etcd:3.6"], "there is none: set lock.image"),
        (
            ['faults=[{kind="partition",target="holder",from="storage",every="8s",lasts="2s"}]'],
            'has no servers of its own with storage.fencing "lock-key": "lock" hits both',
        ),
    ],
)
def test_a_storage_in_the_locks_own_etcd_takes_its_servers_and_looks_at_its_key(settings, problem):
    (error,) = errors_of("etcd-same-etcd", *settings)

    assert problem in error


def test_with_lock_key_no_server_is_started_for_the_storage():
    target = load("etcd-same-etcd")

    assert target.storage.servers == ()
    assert target.storage_servers == target.lock.servers == ("etcd-1", "etcd-2", "etcd-3")


def test_a_writer_of_sqlite_is_not_stopped_before_its_commit_until_others_have_written():
    (error,) = errors_of("etcd-sqlite", "faults.0.at=write-sent")

    assert "locks out everybody else; give lasts instead" in error


@pytest.mark.parametrize(
    ("ttl", "why"),
    [
        ("900ms", "must be at least 1s: a shorter session does not outlive its heartbeats"),
        ("1500us", "must be at least 1s: a shorter session does not outlive its heartbeats"),
        ("2000500us", "ZooKeeper counts in whole milliseconds"),
        ("2h", "must be at most 1h"),
    ],
)
def test_zookeeper_grants_no_session_of_any_length(ttl, why):
    (error,) = errors_of("zookeeper-postgres", f"lock.ttl={ttl}")

    assert error.endswith(f'lock.ttl = "{ttl}": {why}')


PARTITION = '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "2s"\n'


@pytest.mark.parametrize(
    ("faults", "fencing", "name", "why"),
    [
        ("", "upsert", "pauses", "no [[faults]] of this target is a pause"),
        (PARTITION, "upsert", "pauses_past_lease", "no [[faults]] of this target is a pause"),
        (
            PAUSE + 'at = "acquired"\nlasts = "3s"\n',
            "upsert",
            "partitions",
            "no [[faults]] of this target is a partition",
        ),
        (PARTITION, "upsert", "kills", "no fault kills"),
        (PARTITION, "upsert", "failovers", "no [[faults]] of this target is a failover"),
        (PARTITION, "none", "stale_writes_rejected", 'storage.fencing "none" rejects nothing'),
        (
            PARTITION,
            "none",
            "stale_writes_accepted",
            'a stale write that is accepted breaks expect = "valid"',
        ),
    ],
)
def test_a_count_that_nothing_can_bring_about_cannot_be_required(write, faults, fencing, name, why):
    text = SMALL.replace("conditional-update", fencing) + faults + "[require]\n"

    load(write(f"{text}{name} = 0"))
    (error,) = errors_of(write(f"{text}{name} = 1"))
    assert error.endswith(f"require.{name} = 1: cannot come about: {why}")


def test_a_fault_of_unknown_kind_is_not_taken_for_none(write):
    (error,) = errors_of(write(SMALL + '[[faults]]\nkind = "pasue"\n[require]\npauses = 1\n'))

    assert "did you mean pause?" in error


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ('[workload]\nduration = "25h"', "must be at most 24h"),
        ("[require]\ngrants = 1000000001", "must be less than or equal to 1000000000"),
        (PAUSE + f'at = "acquired"\nlasts = "{"9" * 400} ttl"', "must be at most 100000 ttl"),
    ],
)
def test_an_absurd_number_is_refused_with_the_limit(write, text, limit):
    (error,) = errors_of(write(SMALL + text))
    assert error.endswith(limit)


def test_an_absurd_lease_is_refused_with_the_limit():
    (error,) = errors_of("etcd-postgres", "lock.ttl=2h")

    assert error.endswith("must be at most 1h")


def test_what_may_come_goes_with_expected_anomalies_only(write):
    (error,) = errors_of(write(SMALL.replace('"valid"', '"valid"\nmay = ["stale-read"]')))

    assert error.startswith('t.toml:3: may = ["stale-read"]: ')
    assert error.endswith("write expect = [...] with what must be found, or leave may out")


def test_faults_in_one_bracket_are_answered_with_two(write):
    (error,) = errors_of(write(SMALL + '[faults]\nkind = "pause"\n'))

    assert (
        error == "t.toml:10: faults: must be a list of tables: write [[faults]], in two brackets, above each"
    )


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    file = tmp_path / "t.toml"
    file.write_text(SMALL, encoding="utf-8-sig")

    assert load(file).source == SMALL


def test_what_is_no_file_is_said_to_be_what_it_is(tmp_path):
    (tmp_path / "link.toml").symlink_to("gone.toml")
    os.mkfifo(tmp_path / "pipe")

    assert errors_of(tmp_path / "link.toml") == ["link.toml is a link to gone.toml, which is not there"]
    assert errors_of(tmp_path / "pipe") == ["pipe is not a regular file: a target is a file of TOML"]
    assert errors_of("/dev/null") == ["null is not a regular file: a target is a file of TOML"]
    assert errors_of(f"{tmp_path}/.")[0].endswith(" is a folder, not a target file")
    assert errors_of("") == ["the name of a target is empty; `fencepost targets` lists those that ship"]


def test_an_image_is_asked_for_in_words(write):
    (error,) = errors_of(write(SMALL + 'image = "post gres"\n'))

    assert error.endswith('must be the name of an image, without spaces, such as "postgres:18"')


def test_one_of_fenceposts_own_images_that_there_is_not_is_refused(write):
    (error,) = errors_of(write(SMALL + 'image = "fencepost/etcd-3.3"\n'))

    assert error.endswith("Fencepost builds no image fencepost/etcd-3.3; did you mean fencepost/etcd-3.4?")


def test_a_base_stands_before_its_variants():
    names = list(shipped())

    assert names.index("etcd-postgres") < names.index("etcd-postgres-inclusive")


def test_contradictions_are_told_together_with_other_errors(write):
    text = SMALL.replace('kind = "postgres"', 'kind = "postgres"\nflavour = 3') + "[workload]\nwrites = 2\n"

    assert [error.split(":")[1] for error in errors_of(write(text))] == ["9", "12"]


def test_nobody_supersedes_a_client_that_holds_the_rows_lock(write):
    sent = PAUSE + 'at = "write-sent"\n'
    in_many_messages = SMALL.replace("conditional-update", "select-for-update")

    load(write(SMALL + sent + 'until = "superseded"\n'))
    load(write(in_many_messages + sent + 'lasts = "3s"\n'))
    (error,) = errors_of(write(in_many_messages + sent + 'until = "superseded"\n'))
    assert error.startswith("t.toml:14: faults.0.until")
    assert error.endswith("give lasts instead")


@pytest.mark.parametrize(
    ("lock", "setting"),
    [
        ('kind = "redis"', 'lock.kind "redis" without wait_for_replica'),
        ('kind = "kahuna"', 'lock.kind "kahuna"'),
        ('kind = "http"\nurl = "http://127.0.0.1:1"', 'lock.kind "http"'),
        ('kind = "redlock"\ntoken = "highest-counter"', 'lock.token "highest-counter"'),
    ],
)
def test_granted_is_refused_where_one_answer_grants_and_carries_the_token(write, lock, setting):
    text = SMALL.replace('kind = "etcd"', lock) + PAUSE + 'at = "granted"\nuntil = "superseded"\n'

    (error,) = errors_of(write(text))

    line = 1 + text[: text.index("at =")].count("\n")
    assert error.startswith(f't.toml:{line}: faults.0.at = "granted": never happens with {setting}: ')
    assert error.endswith('give "acquired" instead')


@pytest.mark.parametrize(
    "lock",
    [
        'kind = "etcd"',
        'kind = "etcd-lock"',
        'kind = "zookeeper"',
        'kind = "redis"\nreplica = true\nwait_for_replica = true',
        'kind = "redlock"\ntoken = "wall-clock"',
        'kind = "mine.locks:MyLock"',
    ],
)
def test_granted_is_a_stop_point_of_a_lock_that_grants_in_steps(write, lock):
    load(write(SMALL.replace('kind = "etcd"', lock) + PAUSE + 'at = "granted"\nuntil = "superseded"\n'))


def test_a_program_may_report_granted_whatever_its_lock_runs_on(write):
    text = SMALL.replace('kind = "etcd"', 'kind = "redis"') + '[client]\ncommand = ["true"]\n'

    load(write(text + PAUSE + 'at = "granted"\nuntil = "superseded"\n'))


def test_what_must_be_found_cannot_also_be_what_may_be(write):
    text = SMALL.replace('"valid"', '["stale-write"]\nmay = ["stale-write", "stale-read"]')

    (error,) = errors_of(write(text))
    assert error.endswith("stale-write must be found already, says expect")


def test_a_counted_anomaly_cannot_be_expected(write):
    (error,) = errors_of(write(SMALL.replace('"valid"', '["late-write"]')))

    assert "no anomaly is called late-write" in error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name = \n", "t.toml:1: is not TOML: Invalid value: name ="),
        ('name = "a"\nname = "b"\n', 't.toml:2: is not TOML: Cannot overwrite a value: name = "b"'),
        ("[lock\n", "t.toml:1: is not TOML: Expected ']' at the end of a table declaration: [lock"),
        ("a = [1,\n", "t.toml:1: is not TOML: Invalid value: a = [1,"),
    ],
)
def test_a_syntax_error_is_told_with_its_line(write, text, error):
    assert errors_of(write(text)) == [error]


def test_a_file_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "t.toml"
    file.write_bytes(b"\xff\xfe\x00")

    assert errors_of(file)[0].startswith("t.toml: cannot be read")


def test_an_empty_file_lacks_everything_that_has_no_default(write):
    assert errors_of(write("")) == [
        "t.toml: name: is missing",
        "t.toml: expect: is missing",
        "t.toml: lock: is missing",
        "t.toml: storage: is missing",
    ]


def test_a_misspelled_name_is_answered_with_the_nearest():
    assert errors_of("etcd-postgres-unfence") == [
        "no target is called etcd-postgres-unfence; did you mean etcd-postgres-unfenced?"
    ]


def test_a_misspelled_path_is_answered_with_its_neighbour(write):
    file = write(SMALL)

    assert errors_of(file.with_name("tt.toml")) == ["there is no file tt.toml; did you mean t.toml?"]


def test_an_override_is_a_toml_value_or_else_a_string(write):
    overrides = [
        "lock.ttl=3s",
        "workload.clients = 10",
        'expect=["stale-write"]',
        'faults=[{kind="pause",target="holder",at="acquired",lasts="1 ttl"}]',
        "faults.0.target=client:7",
    ]
    target = load(write(SMALL), overrides)

    assert target.lock.ttl == 3 * SECOND
    assert target.workload.clients == 10
    assert target.expected == ("stale-write",)
    assert target.faults[0].target == "client:7"


def test_the_source_of_an_overridden_target_gives_the_same_target(tmp_path):
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
        ("name.first=x", "--set name.first=x: the target has no such place to set"),
        ("faults.9.at=acquired", "--set faults.9.at=acquired: the target has no such place to set"),
        (
            "workload.clients.x=3",
            "--set workload.clients.x=3: the target has no such place to set",
        ),
        (
            "workload.writes.x=3",
            "--set workload.writes.x=3: workload.writes: must be a valid integer",
        ),
        ("lock.ttl=1s", '--set lock.ttl=1s: lock.ttl = "1s": etcd grants no lease shorter than 2s'),
        ("lock.tll=3s", '--set lock.tll=3s: lock.tll = "3s": unknown key in [lock]; did you mean ttl?'),
    ],
)
def test_an_error_of_an_override_names_the_option(override, error):
    assert errors_of("etcd-postgres", override) == [error]


def test_the_errors_of_all_overrides_are_said_at_once():
    assert errors_of(
        "etcd-postgres", "workload.clients=ten", "lock.tll=3s", "faults.3.at=acquired", "lock.ttl"
    ) == [
        "--set faults.3.at=acquired: the target has no such place to set",
        "--set lock.ttl: write it as key=value, such as workload.clients=10",
        '--set lock.tll=3s: lock.tll = "3s": unknown key in [lock]; did you mean ttl?',
        '--set workload.clients=ten: workload.clients = "ten": must be a valid integer',
    ]


def test_an_override_that_is_broken_toml_is_refused():
    (error,) = errors_of("etcd-postgres", "expect=[1")

    assert error.startswith("--set expect=[1: is not a TOML value")


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_target_is_right_and_named_as_its_file(name):
    path = shipped()[name]

    assert load(name).name == name
    assert path.read_text().startswith("#:schema ./schema.json\n# ")
    jsonschema.validate(tomllib.loads(path.read_text()), schemas.target())


@pytest.mark.parametrize("document", schemas.FILES)
def test_the_committed_schema_is_current(document):
    committed = (schemas.ROOT / schemas.FILES[document]).read_text()

    assert committed == schemas.written(schemas.schemas()[document]), "make schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(committed))


def test_the_schema_refuses_what_the_reader_refuses():
    wrong = tomllib.loads(SMALL) | {"workload": {"cleints": 5}}

    with pytest.raises(jsonschema.ValidationError, match="cleints"):
        jsonschema.validate(wrong, schemas.target())


def test_the_line_of_a_key_is_found_however_it_is_written():
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


def test_written_toml_reads_as_the_same_data():
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


def test_a_class_gets_the_servers_that_it_asks_for():
    lock = LOCKS[OWN](kind="mine:Lock", server="redis", nodes=2)
    storage = STORAGES[OWN](kind="mine:Storage", server="postgres", fencing="mine")

    assert (lock.system, lock.servers) == ("redis", ("redis-1", "redis-2"))
    assert (storage.system, storage.servers) == ("postgres", ("postgres",))


def test_a_file_tells_at_its_head_what_it_is_about():
    text = (
        "#:schema ./schema.json\n# The lock is etcd's,\n# the storage is not.\nname = 't'  # a name\n# more\n"
    )

    assert head_comment(text) == "The lock is etcd's, the storage is not."
    assert head_comment("name = 't'") == ""


DOCUMENTATION = (schemas.ROOT / "docs/targets.md").read_text()


@pytest.mark.parametrize(
    "model",
    [Target, *LOCKS.values(), *STORAGES.values(), WorkloadSpec, PauseSpec, PartitionSpec],
    ids=lambda model: model.__name__,
)
def test_every_key_is_documented(model):
    keys = {known.alias or name for name, known in model.model_fields.items()} - {"kind"}
    sections = {"lock", "storage", "client", "workload", "faults", "require"}

    missing = [key for key in keys if f"`{key}`" not in DOCUMENTATION and key not in sections]
    assert not missing


def test_every_count_that_can_be_required_is_documented():
    assert [name for name in COVERAGE if f"`{name}`" not in DOCUMENTATION] == []


def test_the_example_of_the_documentation_is_right(write):
    example = DOCUMENTATION.split("```toml\n")[1].split("```")[0]

    assert load(write(example)).name == "mine"


def test_an_overridden_target_keeps_its_story_and_lists_what_was_changed(tmp_path):
    target = load("etcd-postgres-append", ["workload.duration=6s", "faults.0.at=write-sent"])
    again = tmp_path / "again.toml"
    again.write_text(target.source)
    twice = load(again, ["workload.duration=7s", "lock.nodes=1"]).source

    assert head_comment(target.source).startswith("A fence is not enough for read-modify-write")
    assert dict(changed_in(target.source)) == {
        "workload.duration": '"6s"',
        "faults.0.at": '"write-sent"',
    }
    assert head_comment(twice) == head_comment(target.source)
    assert dict(changed_in(twice)) == dict(changed_in(target.source)) | {
        "workload.duration": '"7s"',
        "lock.nodes": "1",
    }


def test_what_was_changed_stays_in_its_line_of_the_comment():
    source = load("etcd-postgres", ['client.command=["a\\nb = 1", "' + "x" * 5000 + '"]']).source

    (change,) = changed_in(source)
    assert change[0] == "client.command"
    assert len(change[1]) < 300
