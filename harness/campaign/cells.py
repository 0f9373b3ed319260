"""Cells: what a campaign tests, one target each, expanded from names, patterns and matrices."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.campaign.campaign_file import FAULT_SETS, Campaign, Exclusion, Matrix, without_granted
from harness.core.errors import ConfigurationError
from harness.core.suggestions import did_you_mean
from harness.engines.reuse import reusable, same_servers
from harness.network.topology import ServerSpec
from harness.run import deployment
from harness.spec import Target
from harness.spec.locks import LockSpec
from harness.spec.reading import find, frozen, load, load_text, parse, shipped
from harness.spec.selection import found, targets
from harness.spec.toml import dumps
from workloads.locks import LOCKS
from workloads.storages import STORAGES

UNFENCED = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCell:
    """One target of a campaign, and where it lies in the matrix of results."""

    name: str
    lock: str
    storage: str  # with its fencing: "postgres:conditional-update"
    faults: str  # the name of the fault set, or the kinds that a target file has
    duration: int  # ns; of the workload
    source: str  # the text of its target file
    file: str = ""  # of the user, absolute; "": a shipped target or a combination
    servers: str = ""  # equal for cells whose runs can share their servers; "": each run has its own


@dataclass(frozen=True, slots=True)
class Expansion:
    """The cells of a campaign, and a sentence for each word that selects none."""

    cells: tuple[CampaignCell, ...]
    empty: tuple[str, ...]


def expand(campaign: Campaign) -> Expansion:
    """Expand a campaign, each cell once, in order; ConfigurationError names everything that is wrong."""
    found: dict[str, CampaignCell] = {}
    errors: list[str] = []
    names, empty = _named(campaign, errors.append)
    for name in names:
        _add(found, errors, partial(of_file, name, campaign.changes, reuse=campaign.reuse))
    for at, matrix in enumerate(campaign.matrix):
        errors += _unknown(campaign, at, matrix)
        for lock, storage, faults in _combinations(matrix):
            _add(found, errors, partial(_of_combination, lock, storage, faults, campaign))
    if errors:
        raise ConfigurationError(*dict.fromkeys(errors))
    return Expansion(tuple(found.values()), empty)


def _add(found: dict[str, CampaignCell], errors: list[str], make: Callable[[], CampaignCell]) -> None:
    try:
        cell = make()
    except ConfigurationError as error:
        errors += error.lines
        return
    other = found.setdefault(cell.name, cell)
    if other.source != cell.source:
        errors.append(f"two different targets are called {cell.name}: rename one of them")


def _named(campaign: Campaign, refuse: Callable[[str], None]) -> tuple[Iterable[str], tuple[str, ...]]:
    """Return the names of target files, each once, and a sentence for each word that selects none."""
    names: dict[str, None] = {}
    empty: list[str] = []
    for at, cells in enumerate(campaign.cells):
        for index, word in enumerate(cells.targets):
            key = ("cells", at, "targets", index)
            try:
                selected = targets(_files(word) or [word])
                for name in selected.names:
                    find(name)
            except ConfigurationError as error:
                for line in error.lines:
                    refuse(campaign.at(key, line))
            else:
                names |= dict.fromkeys(selected.names)
                empty += [campaign.at(key, why) for why in selected.empty]
    return names, tuple(empty)


def _unknown(campaign: Campaign, at: int, matrix: Matrix) -> Iterator[str]:
    """Yield a sentence about each lock and each storage of a matrix that no shipped target has."""
    for kind, names in (("lock", matrix.lock), ("storage", matrix.storage)):
        known = _shipped_sections()[kind]
        for index, name in enumerate(names):
            if name not in known:
                what = f'no shipped target has "{name}"{did_you_mean(name, known)}'
                yield campaign.at(("matrix", at, kind, index), what)


def _files(pattern: str) -> list[str]:
    """The files that a pattern with a folder names, such as mine/*.toml."""
    path = Path(pattern)
    if len(path.parts) == 1 or not set("*?[") & set(pattern):
        return []
    return found(Path(path.anchor).glob(str(path.relative_to(path.anchor))))


def of_file(name: str, changes: Sequence[str], *, reuse: bool = False) -> CampaignCell:
    """Make a cell of a target file, or of a shipped target by its name."""
    target = load(name, changes)
    kinds = "+".join(dict.fromkeys(fault.kind for fault in target.faults)) or "none"
    return _cell(target, kinds, "" if name in shipped() else str(Path(name).absolute()), reuse=reuse)


def _cell(target: Target, faults: str, file: str = "", *, reuse: bool) -> CampaignCell:
    return CampaignCell(
        name=target.name,
        lock=target.lock.kind,
        storage=f"{target.storage.kind}:{target.storage.fencing}",
        faults=faults,
        duration=target.workload.duration,
        source=target.source,
        file=file,
        servers=servers_to_reuse(target, by_default=reuse),
    )


def servers_to_reuse(target: Target, *, by_default: bool) -> str:
    """Name the servers that a target's runs can share: equal for the same ones; "" for servers of their own.

    `by_default` counts where the target does not say `reuse`. Classes and programs of the user
    always get their own: only shipped clients are known to keep the names of runs apart. So do
    targets that vary, because each run may need others, and those whose servers already run.
    """
    wanted = by_default if target.reuse is None else target.reuse
    is_shipped = not target.client and target.lock.kind in LOCKS and target.storage.kind in STORAGES
    if not wanted or target.vary or not is_shipped or deployment.attached_servers(target):
        return ""
    topology = same_servers(deployment.topology(target, target.faults))
    if not reusable(topology):
        return ""
    return f"{topology.clients} clients: {', '.join(map(_described, topology.servers))}"


def _described(spec: ServerSpec) -> str:
    side = f" ({spec.cluster})" if spec.cluster else ""
    chosen = spec.image or spec.release
    return f"{spec.name}{side}" + (f" = {chosen}" if chosen else "")


def _combinations(matrix: Matrix) -> Iterator[tuple[str, str, str]]:
    """Yield those that are not excluded, of a lock and a storage that shipped targets have."""
    known = _shipped_sections()
    locks, storages = filter(known["lock"].get, matrix.lock), filter(known["storage"].get, matrix.storage)
    for combination in itertools.product(locks, storages, matrix.faults):
        if not any(_excludes(exclusion, combination) for exclusion in matrix.exclude):
            yield combination


def _excludes(exclusion: Exclusion, combination: tuple[str, str, str]) -> bool:
    wanted = (exclusion.lock, exclusion.storage, exclusion.faults)
    return all(want is None or want == have for want, have in zip(wanted, combination, strict=True))


def _of_combination(lock: str, storage: str, faults: str, campaign: Campaign) -> CampaignCell:
    """Make the target of a combination from the sections that shipped targets have."""
    sections = _shipped_sections()
    is_fenced = not storage.endswith(f":{UNFENCED}")
    data = {
        "name": f"{lock}-{storage.replace(':', '-')}-{faults}",
        "expect": "valid" if is_fenced else ["stale-write"],
        "lock": sections["lock"][lock],
        "storage": sections["storage"][storage],
        "faults": list(_faults(sections["lock"][lock], faults)),
    }
    if not is_fenced and (may := sections["may"].get(lock)):
        data["may"] = may
    try:
        target = load_text(dumps(data), f"matrix: {lock} × {storage} × {faults}", campaign.changes)
    except ConfigurationError as error:
        without = f'{{ lock = "{lock}", storage = "{storage}", faults = "{faults}" }}'
        *others, last = error.lines
        raise ConfigurationError(*others, f"{last}; leave it out with exclude = [{without}]") from None
    return _cell(target, faults, reuse=campaign.reuse)


def _faults(lock: Mapping[str, Any], name: str) -> tuple[dict[str, Any], ...]:
    faults = FAULT_SETS[name]
    try:
        spec = TypeAdapter(LockSpec).validate_python(frozen(dict(lock)))
    except ValidationError:  # `load_text` says what is wrong
        return faults
    return without_granted(faults) if spec.complete_at_once else faults


@functools.cache
def _shipped_sections() -> Mapping[str, Mapping[str, Any]]:
    """[lock] and [storage] of the shipped targets, by kind and fencing; the shortest name comes first."""
    found: dict[str, dict[str, Any]] = {"lock": {}, "storage": {}, "may": {}}
    for path in sorted(shipped().values(), key=lambda path: (len(path.stem), path.stem)):
        data = parse(path).data
        lock, storage = data["lock"], data["storage"]
        found["lock"].setdefault(lock["kind"], lock)
        found["storage"].setdefault(f"{storage['kind']}:{storage['fencing']}", storage)
        if "may" in data and storage["fencing"] == UNFENCED:
            found["may"].setdefault(lock["kind"], data["may"])
    return found
