"""Long histories are judged on columns: the same verdict, and the same findings, as line by line."""

from __future__ import annotations

import io
import json
import os
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from brute_force import fenced, random_register_history, renumbered
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import Simulation
from test_history import BYTES, HOSTILE

from benchmarks.generated import Shape, generate, lines
from checkers import Commit, History, HistoryError, Verdict, history, judge, parse, read
from checkers.columnar.columns import Operations, on_lines
from checkers.evidence import Evidence, gather
from checkers.fencing import observed
from checkers.lateness import late_writes
from checkers.reading import column_cache, event_columns
from checkers.reading.event_columns import NotSoundError, read_events
from checkers.records import Op, Outcome

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))  # a nightly run asks for more
FOLDER = Path(__file__).parent / "histories"


def in_columns(lines: Sequence[str]) -> History:
    header = parse(lines[:1]).header
    rest = "".join(line.rstrip("\n") + "\n" for line in lines[1:]).encode(errors="surrogatepass")
    return read_events(io.BytesIO(rest), header, "history")


def lines_of(operations: Sequence[Op], **header: object) -> list[str]:
    """What a recorder would have written; at equal times calls come first."""
    events: list[tuple[int, int, dict[str, object]]] = []
    for op in operations:
        asked = {"process": op.process, "f": op.f, "resource": op.resource}
        asked |= {"token": op.token, "value": op.value} if op.f != "read" else {}
        events.append((op.called, 0, {"time": op.called, "type": "invoke", **asked}))
        told = {"token": op.token, "value": op.value} if op.f == "read" and op.outcome is Outcome.OK else {}
        told |= {"error": op.error} if op.error else {}
        learned = op.called if op.learned is None else max(op.learned, op.called)
        events.append((learned, 1, {"time": learned, "type": op.outcome, **asked, **told}))
    events.sort(key=lambda event: event[:2])
    head = {"fencepost": 1, "target": "t", "require": {"stale_writes_attempted": 0}, **header}
    return [json.dumps(line) + "\n" for line in (head, *(event for _, _, event in events))]


def crowd(rng: random.Random, resources: int = 3) -> tuple[Op, ...]:
    """Several registers at the same time, some fenced ahead of their writes, some without a token."""
    operations: list[Op] = []
    for number in range(rng.randint(1, resources)):
        for op in random_register_history(rng):
            used = op
            if op.f == "write" and op.outcome is not Outcome.FAIL and rng.random() < 0.1:
                used = fenced(op)
            if used.outcome is Outcome.FAIL and rng.random() < 0.2:
                used = replace(used, error="refused")
            if used.value is not None:
                used = replace(used, value=f"{number}{used.value}")
            operations.append(replace(used, resource=f"r{number}", process=len(operations)))
    return renumbered(operations)


def without_times(verdict: Verdict) -> Verdict:
    return replace(verdict, checkers=tuple(replace(each, seconds=0.0) for each in verdict.checkers))


def check_same(lines: Sequence[str]) -> None:
    plain, columns = parse(lines), in_columns(lines)

    assert isinstance(columns.operations, Operations)
    assert replace(columns, operations=tuple(columns.operations)) == plain
    assert list(observed(gather(columns))) == list(observed(Evidence(history=plain))), lines
    assert list(late_writes(gather(columns))) == list(late_writes(Evidence(history=plain))), lines
    assert without_times(judge(columns)) == without_times(judge(plain)), lines


@pytest.mark.parametrize("policy", ["strict", "inclusive"])
@pytest.mark.parametrize("is_fenced", [True, False])
def test_small_histories_of_several_registers(policy, is_fenced):
    rng = random.Random(f"{policy} {is_fenced}")
    wrong = 0
    for _ in range(150 * ROUNDS):
        lines = lines_of(crowd(rng), policy=policy, fenced=is_fenced)
        wrong += bool(list(observed(gather(in_columns(lines)))))
        check_same(lines)
    assert wrong > 25 * ROUNDS


def test_small_histories_on_values_that_stood_there_before():
    rng = random.Random(0)
    for _ in range(150 * ROUNDS):
        token, value = rng.choice([-1, 0, 2, 1 << 61]), rng.choice(["old", 3, None])
        check_same(lines_of(crowd(rng, 2), initial={"value": value, "token": token}))


def test_small_histories_with_writes_without_a_token():
    rng = random.Random(0)
    for _ in range(100 * ROUNDS):
        operations = [
            replace(op, token=None) if op.f == "write" and rng.random() < 0.2 else op for op in crowd(rng)
        ]
        check_same(
            lines_of(operations, fenced=rng.random() < 0.7, policy=rng.choice(["strict", "inclusive"]))
        )


def test_a_list_may_stand_where_a_value_does():
    lines = lines_of(crowd(random.Random(0), 1), initial={"value": ["a", 1], "token": 0})
    read_ = {"process": 1000, "f": "read", "resource": "r0", "time": 10**6}
    lines += [
        json.dumps(read_ | {"type": "invoke"}),
        json.dumps(read_ | {"type": "ok", "value": ["a", 1], "token": 0}),
    ]

    check_same(lines)


@pytest.mark.parametrize("shift", [1 << 32, (1 << 62) + 5])
def test_tokens_may_be_any_number(shift):
    rng = random.Random(shift)
    for _ in range(50 * ROUNDS):
        operations = [
            op if op.token in {None, 0} else replace(op, token=shift + op.token) for op in crowd(rng)
        ]
        check_same(lines_of(operations, policy=rng.choice(["strict", "inclusive"])))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*[!s].jsonl")), ids=lambda path: path.stem)
def test_known_histories(path: Path):
    lines = path.read_text().splitlines(keepends=True)

    if '"f":"append"' in "".join(lines):  # lists are no matter of columns
        with pytest.raises(NotSoundError):
            in_columns(lines)
    else:
        check_same(lines)


def test_with_the_storages_own_order():
    for seed in range(8 * ROUNDS):
        run = Simulation(seed=seed, policy="inclusive" if seed % 2 else "strict", fenced=seed % 3 > 0)
        log = [
            Commit(seq=seq, resource="r0", token=token, value=value)
            for seq, (value, token) in enumerate(run.storage.log, start=1)
        ]

        assert without_times(judge(in_columns(run.lines()), log)) == without_times(
            judge(parse(run.lines()), log)
        )


@pytest.mark.parametrize("policy", ["strict", "inclusive"])
@pytest.mark.parametrize("options", [{}, {"fenced": False}, {"early": 1500}, {"forgetful": True}], ids=str)
def test_whole_simulated_runs(policy, options):
    for seed in range(4 * ROUNDS):
        check_same(Simulation(seed=seed, policy=policy, **options).lines())


@settings(max_examples=300 * ROUNDS, deadline=None)
@given(st.data())
def test_what_the_careful_reader_refuses_is_left_to_it(data):
    text = bytearray(BYTES)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        upto = data.draw(st.integers(at, min(len(text), at + 40)))
        text[at:upto] = data.draw(st.sampled_from([*HOSTILE, b"\n", b"}\n{", b"\r\n", b"} {"]))
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        path.write_bytes(bytes(text))
        slow = read_or_told(path)
        patch.setattr(history, "LONG", 0)

        assert read_or_told(path) == slow


def read_or_told(path: Path) -> History | str:
    try:
        found = read(path)
    except HistoryError as error:
        return str(error)
    return replace(found, operations=tuple(found.operations))


def test_a_long_file_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = tmp_path / "history.jsonl"
    text = "".join(Simulation(seed=1, end=200_000).lines()).replace('"r0"', '"é"')
    path.write_text(text + '{"time":')
    slow = read_or_told(path)
    monkeypatch.setattr(event_columns, "_CHUNK", 1000)
    monkeypatch.setattr(history, "LONG", 0)

    found = read(path)

    assert isinstance(found.operations, Operations)
    assert read_or_told(path) == slow
    assert found.operations[-2:] == tuple(found.operations)[-2:]
    assert found.notices


@pytest.fixture
def long_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A history that counts as long, with a line cut off."""
    monkeypatch.setattr(history, "LONG", 0)
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=3).lines()) + '{"time":')
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def no_reading(*_arguments: object) -> History:
    raise AssertionError("the columns were not used")


def columns_in(cache: Path) -> Path:
    (file,) = cache.glob("*.npz")
    return file


def test_the_columns_of_a_history_stand_for_it(
    long_history: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    first = read(long_history, cache=cache)
    monkeypatch.setattr(history, "read_events", no_reading)

    again = read(long_history, cache=cache)

    assert replace(again, operations=tuple(again.operations)) == replace(
        first, operations=tuple(first.operations)
    )
    assert without_times(judge(again)) == without_times(judge(first))


def test_columns_are_kept_only_where_that_is_asked_for(long_history: Path):
    read(long_history)

    assert [path.name for path in long_history.parent.iterdir()] == ["history.jsonl"]


def test_a_copy_of_a_history_has_the_same_columns_under_its_own_name(
    long_history: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    read(long_history, cache=cache)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(long_history.read_bytes())
    monkeypatch.setattr(history, "read_events", no_reading)

    assert read(copy, cache=cache).notices[0].startswith(f"{copy}:")


def test_columns_beside_a_history_are_not_looked_at(long_history: Path, cache: Path):
    """A folder that somebody sent cannot carry a verdict: not even in the very columns that we would keep."""
    whole = read(long_history, cache=cache)
    kept = columns_in(cache)
    with np.load(kept) as arrays:
        forged = dict(arrays)
    forged["token"] = forged["token"][::-1].copy()
    for name in ("columns.npz", kept.name):
        np.savez(long_history.parent / name, **forged)
    kept.unlink()

    assert tuple(read(long_history, cache=cache).operations) == tuple(whole.operations)
    assert tuple(read(long_history).operations) == tuple(whole.operations)


def test_columns_of_another_version_of_the_reader_are_not_found(
    long_history: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    read(long_history, cache=cache)
    monkeypatch.setattr(column_cache, "version", lambda: "0" * 64)
    header = read(long_history).header

    with long_history.open("rb") as file:
        assert column_cache.kept(cache, column_cache.digest(file), header, "h") is None


def test_columns_under_the_name_of_another_history_are_not_believed(long_history: Path, cache: Path):
    header = read(long_history, cache=cache).header
    renamed = column_cache.path_of(cache, "0" * 64)
    columns_in(cache).rename(renamed)

    assert column_cache.kept(cache, "0" * 64, header, "h") is None


def test_the_version_of_the_reader_is_that_of_its_code():
    assert re.fullmatch("[0-9a-f]{64}", column_cache.version())


def test_columns_that_are_packed_are_not_unpacked(long_history: Path, cache: Path):
    whole = read(long_history, cache=cache)
    kept = columns_in(cache)
    with np.load(kept) as arrays:
        bomb = dict(arrays)
    np.savez_compressed(kept, **(bomb | {"ttl": np.zeros(1 << 24, dtype=np.int64)}))
    with long_history.open("rb") as file:
        of = column_cache.digest(file)

    assert kept.stat().st_size < 1 << 20
    assert column_cache.kept(cache, of, whole.header, "h") is None
    assert tuple(read(long_history, cache=cache).operations) == tuple(whole.operations)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_read_as_columns(long_history: Path, cache: Path, kind: str):
    whole = read(long_history, cache=cache)
    kept = columns_in(cache)
    moved = kept.rename(cache / "moved")
    match kind:
        case "link":
            kept.symlink_to(moved)
        case "pipe":
            os.mkfifo(kept)
        case "folder":
            kept.mkdir()
    with long_history.open("rb") as file:
        of = column_cache.digest(file)

    assert column_cache.kept(cache, of, whole.header, "h") is None


def test_a_cache_that_cannot_be_written_to_costs_only_time(long_history: Path, tmp_path: Path):
    for nowhere in (tmp_path / "none", long_history, Path("/proc")):
        assert len(read(long_history, cache=nowhere).operations)


def test_the_columns_that_were_not_used_for_longest_go_first(cache: Path):
    for day, name in enumerate("abcd"):
        (cache / f"{name}.npz").write_bytes(b"x" * 100)
        os.utime(cache / f"{name}.npz", (day, day))
    (cache / ".left.new").write_bytes(b"x")
    os.utime(cache / ".left.new", (0, 0))

    column_cache.trim(cache, 250)

    assert sorted(path.name for path in cache.iterdir()) == ["c.npz", "d.npz"]


def test_columns_that_are_used_are_not_the_oldest(long_history: Path, cache: Path):
    read(long_history, cache=cache)
    os.utime(columns_in(cache), (0, 0))

    read(long_history, cache=cache)

    assert columns_in(cache).stat().st_mtime > 0


def test_columns_of_another_history_are_not_believed(long_history: Path, cache: Path):
    read(long_history, cache=cache)
    changed = long_history.read_text().replace('"type":"ok"', '"type":"info"').replace('"ok"', '"fail"', 1)
    os_times = long_history.stat()
    long_history.write_text(changed)
    os.utime(long_history, ns=(os_times.st_atime_ns, os_times.st_mtime_ns))

    found = read(long_history, cache=cache)

    assert replace(found, operations=tuple(found.operations)) == read_or_told(long_history)


def test_damaged_columns_are_not_believed(long_history: Path, cache: Path):
    whole = read(long_history, cache=cache)
    file = columns_in(cache)
    kept = file.read_bytes()
    rng = random.Random(1)
    for _ in range(60):
        damaged = bytearray(kept)
        match rng.randrange(3):
            case 0:
                damaged = damaged[: rng.randrange(len(kept))]
            case 1:
                damaged[rng.randrange(len(kept))] ^= 1 << rng.randrange(8)
            case 2:
                at = rng.randrange(len(kept))
                damaged[at : at + 100] = rng.randbytes(rng.randrange(200))
        file.write_bytes(damaged)

        assert tuple(read(long_history, cache=cache).operations) == tuple(whole.operations)


def test_columns_whose_numbers_are_beyond_their_tables_are_not_believed(long_history: Path, cache: Path):
    header = read(long_history, cache=cache).header
    file = columns_in(cache)
    of = file.name.partition("-")[0]
    with np.load(file) as arrays:
        kept = dict(arrays)
    for name, array in kept.items():
        for wrong in (array[:-1], array + 100, array - 100, array.astype(np.float64), array[None]):
            np.savez(file, **(kept | {name: wrong}))
            found = column_cache.kept(cache, of, header, "h")
            if found is not None:
                tuple(found.operations)
                assert name not in {"f", "outcome", "resource", "value"}


def test_operations_are_found_by_their_lines(long_history: Path):
    columns, plain = read(long_history).operations, parse(long_history.read_bytes().splitlines(keepends=True))

    for numbers in ([], [2], [5, 6, 7], [10**9]):
        assert on_lines(columns, numbers) == on_lines(plain.operations, numbers)


@pytest.mark.parametrize("policy", ["strict", "inclusive", "plain"])
@pytest.mark.parametrize(("clients", "lost"), [(5, 0.05), (20, 0.2), (60, 0.01)])
def test_generated_histories_of_some_thousand_operations(policy, clients, lost):
    for seed in range(ROUNDS):
        for resources, wrong in ((1, True), (3, True), (40, False)):
            shape = Shape(
                operations=1500,
                clients=clients,
                lost=lost,
                policy=policy,
                resources=resources,
                wrong=wrong,
                seed=seed,
            )
            generated = generate(shape)
            check_same(list(lines(generated)))
            assert bool(judge(generated).findings) == wrong


def crafted(name: str, columns: dict[str, np.ndarray], rng: random.Random) -> None:
    """Change one field of one operation to something that no recorder writes there."""
    column = columns[name]
    row = rng.randrange(len(column))
    limits = np.iinfo(np.int64)
    column[row] = rng.choice([-5, 0, 1, 1 << 61, limits.min, limits.max, column.min(), column.max()])


def test_crafted_columns_are_refused_or_still_a_history(long_history: Path, cache: Path):
    whole = read(long_history, cache=cache)
    file = columns_in(cache)
    kept = dict(np.load(file))
    refused = 0
    for seed in range(60):
        rng = random.Random(seed)
        columns = {name: array.copy() for name, array in kept.items()}
        name = rng.choice(
            ["called", "returned", "learned", "invoked_line", "completed_line", "process", "attempt"]
        )
        crafted(name, columns, rng)
        np.savez(file, **columns)

        found = read(long_history, cache=cache)

        refused += tuple(found.operations) == tuple(whole.operations)
        judge(found)
    assert refused > 40
