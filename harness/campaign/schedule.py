"""The order of a night's runs, its shards, and which runs fit into its budget."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from harness.campaign.cells import CampaignCell
from harness.core.duration import NS
from harness.core.errors import ConfigurationError

OVERHEAD = 10 * NS["s"]
"""A run's time beyond its workload (servers, verdict, report), until a night has measured it."""

REPRODUCTIONS = 3
"""How often the first failing seed and plan of each fingerprint is run again."""

_SEEDS = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run to make. `reproduction`: 0, or the number of this repetition of a failing run."""

    cell: str
    repeat: int
    seed: int
    expected: int  # ns; from start to end, as earlier nights took
    reproduction: int = 0
    servers: str = ""  # as of its cell
    turn: int = 0  # runs of the same turn are equally urgent

    @property
    def key(self) -> tuple[str, int, int]:
        """What a run and its repetitions have in common."""
        return self.cell, self.repeat, self.seed

    @property
    def id(self) -> str:
        """Name it within its night."""
        again = f"-again{self.reproduction}" if self.reproduction else ""
        return f"{self.cell}-{self.repeat}{again}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What earlier nights say about a cell."""

    seconds: float  # of a run, the median
    last_run: str  # when, ISO 8601; "" if never
    failed_last: bool


def jobs(
    cells: Sequence[CampaignCell],
    *,
    seeds: Sequence[int] | None,
    repeat: int,
    past: Mapping[str, Past],
    rng: random.Random,
    known: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> tuple[Job, ...]:
    """Return all runs of a night in the order to make them.

    `known`: seeds of a cell that are worth a run each, such as those of a corpus. They come first;
    then cells that failed last night, then those that ran least recently, so that even with a short
    budget every cell has its turn. Every cell has its first run before any has its second. Cells
    that can share servers follow the most urgent of them, failed ones before others.
    """
    order = _with_shared_servers_together(cells, past)
    chosen = (
        [[rng.randrange(_SEEDS) for _ in order] for _ in range(repeat)]
        if seeds is None
        else [[seed] * len(order) for seed in seeds]
    )
    first = [
        (cell, number, seed, 0)
        for cell in order
        for number, seed in enumerate(known.get(cell.name, ()), start=len(chosen) + 1)
        if seed not in (seeds or ())
    ]
    rounds = [
        (cell, number, seed, 2 * number - _has_failed(past.get(cell.name)))
        for number, of_round in enumerate(chosen, start=1)
        for cell, seed in zip(order, of_round, strict=True)
    ]
    return tuple(
        Job(
            cell=cell.name,
            repeat=number,
            seed=seed,
            expected=expected(cell, past.get(cell.name)),
            servers=cell.servers,
            turn=turn,
        )
        for cell, number, seed, turn in (*first, *rounds)
    )


def _with_shared_servers_together(
    cells: Sequence[CampaignCell], past: Mapping[str, Past]
) -> list[CampaignCell]:

    def urgency(cell: CampaignCell) -> tuple[bool, str]:
        found = past.get(cell.name)
        return (True, "") if found is None else (not found.failed_last, found.last_run)

    order = sorted(cells, key=urgency)
    places: dict[tuple[bool, str, str], int] = {}

    def place(at: int, cell: CampaignCell) -> tuple[bool, int]:
        failed = _has_failed(past.get(cell.name))
        alone = "" if cell.servers else cell.name
        return not failed, places.setdefault((failed, cell.servers, alone), at)

    keys = {cell.name: place(at, cell) for at, cell in enumerate(order)}
    return sorted(order, key=lambda cell: keys[cell.name])


def _has_failed(past: Past | None) -> bool:
    return past is not None and past.failed_last


def expected(cell: CampaignCell, past: Past | None) -> int:
    """Return how long a run of a cell takes, in ns: as measured, else its workload and some overhead."""
    return round(past.seconds * NS["s"]) if past else cell.duration + OVERHEAD


def shard(everything: Iterable[Job], number: int, of: int) -> tuple[Job, ...]:
    """Return the runs of one of several CI jobs: deterministic, and balanced by expected time.

    The longest run goes to the shard with the least work so far. The order of the runs is kept.
    """
    everything = tuple(everything)
    load = [0] * of
    chosen = set()
    for job in sorted(everything, key=lambda job: (-job.expected, job.id)):
        least = min(range(of), key=lambda at: load[at])
        load[least] += job.expected
        if least == number - 1:
            chosen.add(job.id)
    return tuple(job for job in everything if job.id in chosen)


def choose(waiting: Sequence[Job], kept: Sequence[str], elsewhere: Collection[str]) -> tuple[Job, int] | None:
    """Choose the next run, as urgent as the first one, and which idle worker makes it; None if none waits.

    `kept`: the servers that each idle worker has, "" for none. A run for these comes first; then
    one for servers that no worker at work has (`elsewhere`), so that these stay with one worker.
    """
    equal = [job for job in waiting if job.turn == waiting[0].turn]
    for worker, servers in enumerate(kept):
        if mine := next((job for job in equal if servers and job.servers == servers), None):
            return mine, worker
    if not equal:
        return None
    job = next((job for job in equal if job.servers not in elsewhere), equal[0])
    return job, kept.index("") if "" in kept else 0


def fits(job: Job, elapsed: int, budget: int | None) -> bool:
    """Is there time for this run? Both times are in ns."""
    return budget is None or elapsed + job.expected <= budget


MOST_SHARDS = 1000


def parse_shard(name: str) -> tuple[int, int]:
    """Return the number of a shard, and how many there are. Raises ValueError if no shard has this name."""
    number, _, of = name.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= MOST_SHARDS:
        return int(number), int(of)
    raise ValueError(f"{name!r} is not a shard: give its number and how many there are, such as 2/5")


def missing_shards(names: Sequence[str]) -> list[str]:
    """Return the shards that are missing ("": a whole night); ConfigurationError if these are of several."""
    if not any(names):
        return []
    try:
        parts = Counter(map(parse_shard, names))
    except ValueError as error:
        raise ConfigurationError(f"these are not shards of one campaign: {error}") from None
    if twice := [f"{number}/{of}" for (number, of), times in parts.items() if times > 1]:
        raise ConfigurationError(f"these are not shards of one campaign: {', '.join(twice)} is there twice")
    totals = {of for _, of in parts}
    if len(totals) > 1:
        raise ConfigurationError(f"these are shards of different campaigns: {', '.join(names)}")
    (of,) = totals
    return [f"{number}/{of}" for number in range(1, of + 1) if (number, of) not in parts]
