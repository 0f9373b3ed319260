"""Runs with many anomalies of a storage, by what its clients saw and by its own order."""

from __future__ import annotations

from benchmarks.kinds import INCLUSIVE, UNFENCED, Kind
from benchmarks.scripted import Script


def _stale_write(run: Script) -> None:
    late = run.number()
    run.write(0, run.number())
    run.write(1, late)


def _older_token(run: Script) -> None:
    run.write(0, 10_000_000 - run.number())


def _token_used_again(run: Script) -> None:
    run.write(run.number(), 1)


def _seen_after_newer(run: Script) -> None:
    late = run.number()
    value = f"v{run.number()}"
    call = run.call(0, "write", token=late, value=value)
    newer = run.number()
    run.read(1, newer, run.write(1, newer))
    run.read(1, late, value)
    run.answer(call)


def _stale_in_order(run: Script) -> None:
    late = run.number()
    run.logged_write(0, run.number())
    run.logged_write(1, late)


def _stale_without_token(run: Script) -> None:
    late, owner = run.grant(0, None), run.grant(1, None)
    run.write(1, None, owner=owner)
    run.write(0, None, owner=late)


def _stale_behind_fence(run: Script) -> None:
    late = run.number()
    run.do(0, "fence", token=run.number())
    run.logged_write(1, late)


def _stale_read(run: Script) -> None:
    old = run.number()
    value = run.write(0, old)
    run.write(0, run.number())
    run.read(1, old, value)


def _first_write(run: Script, _operations: int) -> None:
    run.write(0, run.number())
    run.write(0, run.number())


def _read_of_first(run: Script) -> None:
    run.read(1, 1, "v2")
    run.read(1, 3, "v4")


def _went_back(run: Script) -> None:
    token = run.number() if not run.header.get("policy") else 1
    older = run.write(0, token)
    newer = run.write(0, token)
    for value in (older, newer, older):
        run.read(1, token, value)


def _read_of_stale(run: Script) -> None:
    late = run.number()
    run.write(0, run.number())
    value = run.write(1, late)
    run.write(0, run.number())
    run.read(1, late, value)
    run.read(1, late, value)


def _refused_first(run: Script) -> None:
    run.refused_write(0, run.number())
    run.write(1, run.number())


def _refused(run: Script) -> None:
    run.refused_write(run.number(), 1_000_000_000)


def _unfinished_above(run: Script, operations: int) -> None:
    """One token that can refuse all, above many that came too late for that."""
    run.lost_write(1_000_000_000)
    for _ in range(operations // 2):
        run.refused_write(1, 1)
    for _ in range(operations // 2 - 1):
        run.lost_write(run.number() + 1)


def _one_of_two(run: Script) -> None:
    refused = run.number()
    older = run.number()
    run.lost_write(run.number())
    run.refused_write(0, refused)
    run.write(1, older)


def _refused_in_order(run: Script) -> None:
    run.refused_write(0, run.number())
    run.logged_write(1, run.number())


def _not_stored(run: Script) -> None:
    run.logged_write(0, run.number())
    run.write(0, run.number())


def _ghost_in_order(run: Script) -> None:
    value, token = f"v{run.number()}", run.number()
    run.answer(run.call(0, "write", token=token, value=value), "fail", error="no")
    run.commit(token, value)
    run.logged_write(1, run.number())


def _ghost_read(run: Script) -> None:
    value, token = f"v{run.number()}", run.number()
    run.answer(run.call(0, "write", token=token, value=value), "fail", error="no")
    run.read(1, token, value)


def _stored_twice(run: Script) -> None:
    token = run.number()
    value = run.logged_write(0, token)
    run.read(1, token, value)
    run.commit(token, value)


def _stored_often(run: Script) -> None:
    """One write that takes effect again and again, and everybody reads it."""
    run.read(1, 1, "v2")
    run.commit(1, "v2")


def _first_stored(run: Script, _operations: int) -> None:
    run.logged_write(0, run.number())


def _lost(run: Script) -> None:
    old, new = run.number(), run.number()
    value, lost = run.write(0, old), run.write(0, new)
    run.read(1, new, lost)
    run.fault("restart", "storage", "in force")
    run.fault("restart", "storage", "healed")
    run.read(1, old, value)


def _acted_on(run: Script) -> None:
    """A write that only a storage which forgot the newer one lets through."""
    old, between, new = run.number(), run.number(), run.number()
    value = run.write(0, old)
    run.write(0, new)
    run.read(1, old, value)
    run.write(1, between)


def _came_back(run: Script) -> None:
    old, new = run.number(), run.number()
    value, newer = run.write(0, old), run.write(0, new)
    run.fault("restart", "storage", "in force")
    run.fault("restart", "storage", "healed")
    run.read(1, old, value)
    run.read(1, new, newer)


def _lost_from_order(run: Script) -> None:
    run.logged_write(0, run.number())
    token = run.number()
    run.read(1, token, run.write(0, token))


def _without_token(run: Script) -> None:
    run.write(0, None)


def _token_lost_on_the_way(run: Script) -> None:
    run.logged_write(0, run.number())
    value = run.write(0, run.number())
    run.commit(None, value)


def _foreign(run: Script) -> None:
    """A write of this run, and one that nobody sent."""
    run.logged_write(0, run.number())
    run.commit(run.number(), f"w{run.number()}")


def _stored_otherwise(run: Script) -> None:
    run.logged_write(0, run.number())
    value = run.write(0, run.number())
    run.commit(run.number(), value)


def _stored_elsewhere(run: Script) -> None:
    run.logged_write(0, run.number())
    token = run.number()
    run.commit(token, run.write(0, token), resource="s")


def _against_order(run: Script) -> None:
    """Two writes, one after the other, that the storage's own order has the other way round."""
    first, second = run.write(0, 1), run.write(0, 1)
    run.commit(1, second)
    run.commit(1, first)
    run.read(1, 1, first)


def _unwritten(run: Script) -> None:
    run.write(0, run.number())
    run.read(1, run.number(), f"w{run.number()}")


def _unwritten_again(run: Script) -> None:
    run.read(1, 1, "w1")


def _wrong_token(run: Script) -> None:
    token = run.number()
    run.read(1, token + 1_000_000_000, run.write(0, token))


def _read_early(run: Script) -> None:
    token = run.number()
    value = f"v{run.numbers + 1}"
    run.read(1, token, value)
    run.write(0, token)


def _read_not_stored(run: Script) -> None:
    run.logged_write(0, run.number())
    token = run.number()
    run.read(1, token, run.lost_write(token))


def _late_write(run: Script) -> None:
    late, newer = run.number(), run.number()
    run.grant(0, late)
    run.grant(1, newer)
    run.write(0, late)
    run.write(1, newer)


def _refused_behind_fence(run: Script) -> None:
    run.refused_write(0, run.number())
    run.do(1, "fence", token=run.number())


def _fence_not_raised(run: Script) -> None:
    run.logged_write(0, run.number())
    run.do(0, "fence", token=run.number())


def _first_fence(run: Script, _operations: int) -> None:
    run.do(0, "fence", token=run.number())
    run.fence_commit(run.numbers)


ON_STORAGES = {
    "stale writes": Kind(add=_stale_write, finds="stale-write"),
    "stale writes, each below all before": Kind(add=_older_token, finds="stale-write"),
    "stale writes, one token": Kind(add=_token_used_again, finds="stale-write"),
    "stale writes, below the first token": Kind(
        add=_token_used_again, finds="stale-write", header={"initial": {"token": 9}}
    ),
    "stale writes, no fence": Kind(add=_stale_write, finds="stale-write", header=UNFENCED),
    "stale writes, by their readers": Kind(add=_seen_after_newer, finds="stale-write", header=UNFENCED),
    "stale writes, by the order": Kind(add=_stale_in_order, finds="stale-write"),
    "stale writes, by holds": Kind(add=_stale_without_token, finds="stale-write", header=UNFENCED),
    "stale writes, behind fences": Kind(add=_stale_behind_fence, finds="stale-write"),
    "stale reads": Kind(add=_stale_read, finds="stale-read"),
    "stale reads, of one value": Kind(add=_read_of_first, first=_first_write, finds="stale-read"),
    "stale reads, no fence": Kind(add=_stale_read, finds="stale-read", header=UNFENCED),
    "stale reads, of stale writes": Kind(add=_read_of_stale, finds="stale-read"),
    "stale reads, of what came back": Kind(add=_came_back, finds="stale-read"),
    "late writes": Kind(add=_late_write, finds="late-write"),
    "false rejections": Kind(add=_refused_first, finds="false-rejection"),
    "false rejections, nothing newer": Kind(add=_refused, first=_first_write, finds="false-rejection"),
    "false rejections, no fence": Kind(add=_refused_first, finds="false-rejection", header=UNFENCED),
    "false rejections, by the order": Kind(add=_refused_in_order, finds="false-rejection"),
    "false rejections, with fences": Kind(add=_refused_behind_fence, finds="false-rejection"),
    "rejections, many that were too late": Kind(add=_stale_write, first=_unfinished_above),
    "phantom accepts": Kind(add=_not_stored, finds="phantom-accept"),
    "phantom accepts, of fences": Kind(add=_fence_not_raised, first=_first_fence, finds="phantom-accept"),
    "ghost writes": Kind(add=_ghost_read, finds="ghost-write"),
    "ghost writes, by the order": Kind(add=_ghost_in_order, finds="ghost-write"),
    "duplicate writes": Kind(add=_stored_twice, finds="duplicate-write"),
    "duplicate writes, of one": Kind(add=_stored_often, first=_first_stored),
    "lost writes": Kind(add=_lost, finds="lost-write", header=UNFENCED),
    "lost writes, by the order": Kind(add=_lost_from_order, finds="lost-write"),
    "lost writes, acted on": Kind(add=_acted_on, finds="lost-write"),
    "high-water regressions": Kind(add=_lost, finds="high-water-regression"),
    "unfenced writes": Kind(add=_without_token, finds="unfenced-write"),
    "unfenced writes, by the order": Kind(add=_token_lost_on_the_way, finds="unfenced-write"),
    "foreign commits": Kind(add=_foreign, finds="non-linearizable"),
    "commits with another token": Kind(add=_stored_otherwise, finds="non-linearizable"),
    "commits on another resource": Kind(add=_stored_elsewhere, finds="non-linearizable"),
    "against the order": Kind(add=_against_order, finds="non-linearizable", header=INCLUSIVE),
    "reads of nothing written": Kind(add=_unwritten, finds="non-linearizable"),
    "reads of nothing written, of one value": Kind(add=_unwritten_again, finds="non-linearizable"),
    "reads with another token": Kind(add=_wrong_token, finds="non-linearizable"),
    "reads before the write": Kind(add=_read_early, finds="non-linearizable"),
    "reads of nothing stored": Kind(add=_read_not_stored, finds="non-linearizable"),
    "values that came back": Kind(add=_went_back, finds="non-linearizable", header=UNFENCED),
    "values of one token that came back": Kind(add=_went_back, finds="non-linearizable", header=INCLUSIVE),
    "one of two answers wrong": Kind(add=_one_of_two, finds="non-linearizable"),
}
"""Runs by what there is much of."""
