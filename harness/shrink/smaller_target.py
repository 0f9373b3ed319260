"""The smallest target that still shows a finding: fewer faults, clients, resources and seconds.

Each smaller target is really run, with the seed of the run first and then with the next ones. It is
kept as soon as one of its runs has a finding of the same anomaly and rule. Then the smallest target
runs several times, to tell how often it shows the finding.

Only a run that was judged says anything about its target. If a fault was not observed, the next run
may still be judged; any other failure would meet every run, so it ends the shrinking.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.duration import format_duration
from harness.core.errors import ConfigurationError, FaultNotInstalledError
from harness.engines.engine import Engine
from harness.files.run_folder import PLAN
from harness.report.first_finding import Finding
from harness.report.sentences import count
from harness.run.run_to_verdict import to_verdict
from harness.run.runner import RunOptions
from harness.shrink.excerpt import expecting
from harness.shrink.reduce import reduced
from harness.spec import Target
from harness.spec.reading import load_text
from harness.spec.toml import head_comment, loads, with_changes

_TRIES = 2  # runs of each smaller target
_FEWEST_CLIENTS = (2, 3, 4)

_Data = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class SmallerTarget:
    """A target that shrinks while its runs show the finding."""

    text: str  # of the target
    name: str  # where the text is from
    finding: Finding
    seed: int
    engine: Engine
    runs: Path  # the folder for the runs
    deadline: float  # on the monotonic clock; no run starts later
    notify: Callable[[str], None]  # gets a line about each smaller target
    plan: Path | None = None  # plan.json of a run that showed the finding
    _data: _Data = field(init=False)

    def __post_init__(self) -> None:
        load_text(self.text, self.name)  # if anything is wrong with it, it says what
        self._data = expecting(self.finding["anomaly"], loads(self.text))

    @property
    def target(self) -> Target:
        """The smallest target so far."""
        return load_text(self.source, self.name)

    @property
    def source(self) -> str:
        """Its text."""
        return _source(self.text, self._data)

    def shrink(self) -> None:
        """Leave out faults, then clients, resources and time, as long as the finding is shown.

        Raises as `run` does, if a run cannot be made.
        """
        reduced(self._data.get("faults", ()), self._with_faults)
        for clients in _FEWEST_CLIENTS:
            if clients < self.target.workload.clients and self._try(f"{clients} clients", clients=clients):
                break
        if self.target.workload.resources > 1:
            self._try("1 resource", resources=1)
        while self._try(half := format_duration(self.target.workload.duration // 2), duration=half):
            pass

    def measure(self, runs: int) -> tuple[int, int]:
        """Run the smallest target, each time with another seed: how often it showed the finding, of how many.

        Fewer runs if the time is over, or if a fault was not observed in some. Raises as `run` does.
        """
        target = self.target
        shown: list[bool] = []
        for number in range(runs):
            if self._is_late:
                break
            shown += self._shows(target, self.seed + number)
        return sum(shown), len(shown)

    @property
    def _is_late(self) -> bool:
        return time.monotonic() >= self.deadline

    def _with_faults(self, faults: Sequence[_Data]) -> bool:
        kinds = ", ".join(fault["kind"] for fault in faults)
        return self._keep_if_enough(f"faults: {kinds or 'none'}", self._data | {"faults": list(faults)})

    def _try(self, what: str, **workload: object) -> bool:
        """Keep a change of the workload if the finding is still shown."""
        changed = self._data.get("workload", {}) | workload
        return self._keep_if_enough(what, self._data | {"workload": changed})

    def _keep_if_enough(self, what: str, smaller: _Data) -> bool:
        if not self._is_enough(what, smaller):
            return False
        self._data = smaller
        return True

    def _is_enough(self, what: str, data: _Data) -> bool:
        try:
            target = load_text(_source(self.text, data), self.name)
        except ConfigurationError:
            return False  # such as a run that is too short for its faults
        judged = 0
        for number in range(_TRIES):
            if self._is_late:
                return False
            shown = self._shows(target, self.seed + number)
            if any(shown):
                self.notify(f"{what}: enough, in run {number + 1}")
                return True
            judged += len(shown)
        said = f"not enough, in {count(judged, 'run')}" if judged else "not known: no run was judged"
        self.notify(f"{what}: {said}")
        return False

    def _shows(self, target: Target, seed: int) -> Sequence[bool]:
        """Run a target: did it show the finding? Empty if the run was not judged."""
        try:
            judged = to_verdict(target, self.engine, RunOptions(seed=seed, runs=self.runs))
        except FaultNotInstalledError as error:
            self.notify(f"a run failed: {error.lines[0]}")
            return ()
        wanted = (self.finding["anomaly"], self.finding["rule"])
        if all((found.anomaly, found.rule) != wanted for found in judged.document.findings):
            return (False,)
        self.plan = judged.folder / PLAN
        return (True,)


def _source(text: str, data: _Data) -> str:
    return with_changes(head_comment(text), {}, data)
