"""How stable fingerprints are: campaigns over the planted bugs of the zoo, each with another seed.

    python -m benchmarks.fingerprints --campaigns 20 --workers 4 --nights fingerprint-nights

A campaign that is in the folder already is not made again, but all of its runs are judged again: so
a changed rule is measured on the same runs. Campaigns that were cut short are resumed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.campaign.canary import bugs
from harness.report.first_finding import fingerprint, shape
from harness.run.recheck import judge_file
from harness.spec.reading import zoo

NOT_LOCAL = frozenset({"header-revision-etcd-3-4", "redlock-one-clock-jumped", "sequence-number-token"})
FENCEPOST = Path(sys.executable).with_name("fencepost")
_CAMPAIGN = """\
name = "zoo-{seed}"
seeds = [{seed}]
canary = false

[[cells]]
targets = {targets}
"""


def main() -> None:
    """Make the campaigns that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=20, help="each with the next seed")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--bugs", nargs="+", default=sorted({*bugs()} - NOT_LOCAL))
    parser.add_argument("--nights", type=Path, default=Path("fingerprint-nights"))
    arguments = parser.parse_args()
    for seed in range(1, arguments.campaigns + 1):
        if not (arguments.nights / f"zoo-{seed}/latest/campaign.json").exists():
            _make(arguments.nights, seed, arguments.bugs, arguments.workers)
    for line in table(shapes(arguments.nights)):
        print(line)


def _make(nights: Path, seed: int, chosen: Iterable[str], workers: int) -> None:
    """Run a campaign on the local engine, or go on with it."""
    targets = [str(zoo()[bug]) for bug in chosen]
    nights.mkdir(parents=True, exist_ok=True)
    file = nights / f"zoo-{seed}.toml"
    file.write_text(_CAMPAIGN.format(seed=seed, targets=targets), encoding="utf-8")
    command: list[str | Path] = [FENCEPOST, "campaign", "run", "--engine", "local", "--nights", nights]
    command += ["--workers", str(workers)]
    command += ["--resume"] if (nights / f"zoo-{seed}/latest").exists() else []
    subprocess.run([*command, file], stdout=subprocess.DEVNULL, check=False)


def shapes(nights: Path) -> Mapping[str, list[tuple[str, str]]]:
    """Of each bug, the fingerprint and the shape of each of its runs; "" where no violation was found."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for folder in sorted(nights.glob("zoo-*/2*/runs/*/2*")):
        if (folder / "verdict.json").exists():
            found[folder.parent.name].append(_of_run(folder))
    return found


def _of_run(folder: Path) -> tuple[str, str]:
    commits = folder / "commits.jsonl"
    judged = judge_file(folder / "history.jsonl", commits if commits.exists() else None, same_run=True)
    verdict = judged.document.as_dict()
    return (fingerprint(folder.parent.name, verdict), shape(verdict)) if verdict["findings"] else ("", "")


def table(found: Mapping[str, list[tuple[str, str]]]) -> Iterator[str]:
    """Yield a row for each bug, then how many fingerprints two bugs share, and the worst split."""
    yield "| bug | runs | failing | fingerprints | shapes |"
    yield "|---|--:|--:|--:|---|"
    owners: dict[str, set[str]] = defaultdict(set)
    worst = 0
    for bug, runs in sorted(found.items()):
        failing = Counter(run for run in runs if run[0])
        for one, _ in failing:
            owners[one].add(bug)
        worst = max(worst, len(failing))
        seen = "; ".join(f"{text} ×{count}" for (_, text), count in failing.most_common())
        yield f"| `{bug}` | {len(runs)} | {failing.total()} | {len(failing)} | {seen} |"
    joined = sum(len(each) > 1 for each in owners.values())
    yield ""
    yield f"{joined} fingerprints belong to two bugs; the most fingerprints of one bug: {worst}."


if __name__ == "__main__":
    main()
