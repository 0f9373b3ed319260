"""What the nemesis decided live about its windows, held against what the history shows afterwards.

    .venv/bin/python -m tests.support.windows_by_facts RUN...

prints where the two differ, for each folder of a run, and how many windows there were.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from checkers.facts.evidence import gather
from checkers.facts.hits import FaultHits, HoldHit, hits_of
from checkers.history.reader import read
from checkers.vocabulary.hazards import Hit
from harness.nemesis.faults import ClientFault, FaultSpec, aims_at_hazards, hits_servers, name_of
from harness.nemesis.fields import WAITER
from harness.nemesis.stop_points import aim_of
from harness.nemesis.windows import NO_TAKEOVER, NOT_EXPIRED, WENT_FURTHER
from harness.spec.reading import load

STRUCK = (NO_TAKEOVER, NOT_EXPIRED, WENT_FURTHER)
"""Why a window was missed in which the fault was in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The windows of one fault of a target: live, and by the history."""

    fault: str
    struck: tuple[int, int]  # windows in which it was in force
    hit: tuple[int, int]  # and those in which it ended as aimed

    @property
    def agree(self) -> bool:
        """Do both say the same?"""
        return len({*self.struck}) == len({*self.hit}) == 1


def compared(folder: Path) -> Iterator[Compared]:
    """Compare the windows of each fault on holders, in a finished run, that begins at a stop point."""
    windows = {each["fault"]: each for each in json.loads((folder / "plan.json").read_bytes())["windows"]}
    faults = [each for each in load(folder / "target.toml").faults if _endangers_a_holder(each)]
    hits = hits_of(gather(read(folder / "history.jsonl")))
    for name, fault in {name_of(each): each for each in faults}.items():
        alike = [each for each in faults if name_of(each) == name]
        found = [hit for each in hits if _is_of(fault, each) for hit in _of_the_holder(each)]
        live = windows[name]
        hit = (live["hit"], sum(_is_as_aimed(fault, each) for each in found))
        yield Compared(
            fault=name,
            struck=(live["hit"] + sum(live["missed"].get(why, 0) for why in STRUCK), len(found)),
            hit=(0, 0) if aims_at_hazards(fault) or len(alike) > 1 else hit,
        )


def _endangers_a_holder(fault: FaultSpec) -> bool:
    return (
        not hits_servers(fault)
        and fault.target != WAITER
        and (fault.at is not None or aims_at_hazards(fault))
    )


def _is_of(fault: ClientFault, hits: FaultHits) -> bool:
    is_at = hits.fault.at is not None and (aims_at_hazards(fault) or hits.fault.at == fault.at)
    is_there = fault.target in {"holder", f"holder:{hits.fault.resource}", hits.fault.target}
    return hits.fault.kind == fault.kind and is_at and is_there


def _of_the_holder(hits: FaultHits) -> Iterable[HoldHit]:
    return (hit for hit in hits.holds if hit.whom is Hit.HOLDER)


def _is_as_aimed(fault: ClientFault, hit: HoldHit) -> bool:
    return fault.until is None or hit.end is aim_of(fault)


def main(folders: Iterable[str]) -> None:
    """Print the differences of some runs."""
    runs = windows = 0
    for folder in map(Path, folders):
        if not (folder / "verdict.json").exists():
            continue
        runs += 1
        for each in compared(folder):
            windows += each.struck[0]
            if not each.agree:
                sys.stdout.write(f"{folder}: {each}\n")
    sys.stdout.write(f"{windows} windows of {runs} runs\n")


if __name__ == "__main__":
    main(sys.argv[1:])
