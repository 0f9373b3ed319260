"""Windows of faults: how many a fault had, how many it hit, why it missed the others."""

import json
import multiprocessing
import random
import tarfile
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from checkers.vocabulary.document import WindowsDocument
from harness.clients.shared_state import SharedProgress, SharedState
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.clock import ClockSpec
from harness.nemesis.faults import hits_servers
from harness.nemesis.kill import KillSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import Observer, PlanLog, plan
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Reservations
from harness.nemesis.server_faults import ServerFaults
from harness.nemesis.windows import NO_GRANT, NO_HOLDER, NO_MOMENT, NO_TAKEOVER, RUN_OVER, had_victim
from harness.run.recheck import judge_folder
from tests.support.windows_by_facts import compared

SECOND = 1_000_000_000
PAUSE = PauseSpec(kind="pause", target="holder", at="before-write", until="superseded")
TAKEN = had_victim("kill client:0 acquired")


def test_windows_are_part_of_the_plan() -> None:
    twice = plan((PAUSE, PAUSE), 1, SECOND, 20 * SECOND)
    log = PlanLog(seed=1, started=0, duration=1, planned=twice, save=lambda _document: None)

    for which, why in ((0, None), (0, TAKEN), (1, None), (0, NO_TAKEOVER), (1, TAKEN)):
        log.window(which, why)  # faults that are called the same have their windows together

    assert log.document()["windows"] == [
        {"fault": "pause holder before-write", "hit": 2, "missed": {TAKEN: 2, NO_TAKEOVER: 1}}
    ]


def test_a_sentence_has_hits_and_reasons() -> None:
    missed = WindowsDocument(fault="pause holder acquired", hit=11, missed={TAKEN: 1})
    hit = WindowsDocument(fault="kill storage", hit=1)

    assert str(missed) == f"pause holder acquired: 12 windows, 11 hit, 1 missed: {TAKEN}"
    assert str(hit) == "kill storage: 1 window, 1 hit"
    assert str(WindowsDocument(fault="pause holder granted")).endswith(
        "0 windows, 0 hit, because it never had an occasion"
    )


def test_a_fault_that_is_over_has_no_name() -> None:
    assert had_victim("kill storage") == "another fault (kill storage) had its victim"
    assert had_victim(None) == "another fault had its victim"


def test_verdict_and_page_have_the_windows_of_the_plan(recorded_run: Any) -> None:
    folder = recorded_run("append-without-fence-on-acquire-twin")
    file = folder / "plan.json"
    windows = [{"fault": "pause holder before-write", "hit": 3, "missed": {TAKEN: 1}}]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"windows": windows}))

    judged = judge_folder(folder)

    assert json.loads((folder / "verdict.json").read_text())["windows"] == windows
    assert str(judged.document.windows[0]) in (folder / "report.html").read_text()


@pytest.fixture
def state() -> SharedState:
    return SharedState.create(multiprocessing.get_context("forkserver"), 2, 1, 1)


def reach(state: SharedState) -> FaultReach:
    me = psutil.Process()
    cluster: Any = SimpleNamespace(servers=())
    return FaultReach(cluster=cluster, sides={"storage": ("postgres",)}, processes=[me, me], state=state)


def missed(
    state: SharedState,
    fault: Any,
    reservations: Reservations,
    moments: Sequence[int] = (0,),
    *,
    is_over: bool = False,
) -> Sequence[str | None]:
    """Why a fault that may begin at once only, and cannot, missed its windows."""
    windows: list[str | None] = []
    to = {"ttl": SECOND, "reach": reach(state), "reservations": reservations, "observer": None}
    over = threading.Event()
    if is_over:
        over.set()
    clients = ClientFaults(state=state, resources=("r0",), over=over, **to)
    if hits_servers(fault):
        ServerFaults(clients).strike(fault, moments, 0, windows.append)
    else:
        clients.strike(fault, moments, 0, random.Random(1), windows.append)
    return windows


def servers(state: SharedState, over: threading.Event) -> ServerFaults:
    clients = ClientFaults(
        ttl=SECOND,
        state=state,
        resources=("r0",),
        reach=reach(state),
        reservations=Reservations(state),
        observer=Observer.__new__(Observer),
        over=over,
    )
    return ServerFaults(clients)


KILL = KillSpec(kind="kill", target="storage", lasts="1s", every="5s")
SEEDED_PAUSE = PauseSpec(kind="pause", target="holder", every="5s", lasts="1s")


def test_a_window_of_servers_says_which_fault_had_them(state: SharedState) -> None:
    reservations = Reservations(state)
    reservations.reserve("pause storage", None, {"postgres"})

    assert missed(state, KILL, reservations) == ["another fault (pause storage) had its servers"]


@pytest.mark.parametrize("fault", [KILL, SEEDED_PAUSE])
def test_moments_that_a_run_does_not_come_to_are_missed(state: SharedState, fault: Any) -> None:
    assert missed(state, fault, Reservations(state), [0, 1], is_over=True) == [RUN_OVER, RUN_OVER]


def test_servers_that_are_free_late_are_missed(state: SharedState, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    windows: list[str | None] = []

    def free_too_late(*_arguments: Any) -> bool:
        over.set()
        return True

    monkeypatch.setattr(Reservations, "reserve", free_too_late)

    servers(state, over).strike(KILL, [0], time.monotonic_ns() + SECOND, windows.append)

    assert windows == [RUN_OVER]


def test_a_window_of_servers_says_that_its_moment_did_not_come(state: SharedState) -> None:
    waits = KILL.model_copy(update={"when": "second-waiter"})

    assert missed(state, waits, Reservations(state)) == [NO_MOMENT]


def test_a_window_of_clients_says_which_fault_had_the_holder(state: SharedState) -> None:
    reservations = Reservations(state)
    assert missed(state, SEEDED_PAUSE, reservations) == [NO_HOLDER]

    SharedProgress(state, 1, ("r0",)).reached("acquired", "r0", "1-1", 7)
    reservations.reserve("throttle client:1", 1)

    assert missed(state, SEEDED_PAUSE, reservations) == ["another fault (throttle client:1) had its victim"]


@pytest.mark.parametrize("is_held", [True, False])
def test_a_moved_clock_hits_only_if_somebody_held_a_lock(
    is_held: bool, state: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClockSpec, "in_force", lambda *_arguments: nullcontext())
    monkeypatch.setattr(Observer, "observed", lambda *_arguments: nullcontext())
    clock = ClockSpec(kind="clock", target="postgres", jump="1h", lasts="20ms", every="5s")
    if is_held:
        SharedProgress(state, 1, ("r0",)).reached("acquired", "r0", "1-1", 7)
    windows: list[str | None] = []

    servers(state, threading.Event()).strike(clock, [0], time.monotonic_ns() + SECOND, windows.append)

    assert windows == [None if is_held else NO_GRANT]


ARCHIVE = Path(__file__).with_name("recorded-windows.tar.xz")
RUNS = 20  # of each
BUGS = (
    "check-then-write",
    "code-path-without-the-token",
    "fallback-to-another-server",
    "fence-counter-deleted",
    "get-then-del-unlock",
    "lease-id-token",
    "read-from-a-cache",
    "second-set-drops-expiry",
    "uuid-token",
    "value-after-the-fence",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_the_nemesis_hits_what_the_history_shows(recorded: Path, bug: str) -> None:
    runs = sorted((recorded / bug).iterdir())
    windows = [each for run in runs for each in compared(run)]

    assert len(runs) == RUNS
    assert not [each for each in windows if not each.agree]
    assert sum(each.struck[0] for each in windows) >= RUNS
