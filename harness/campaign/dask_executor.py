"""Runs of a campaign on the workers of a Dask cluster, each on one unit of the resource `engine`.

The workers share no folder with this machine: a run is sent with its target, and its folder is
returned compressed. If a worker dies, Dask makes its run again on another one. If the campaign is
interrupted, so are its runs on the workers: each judges what it has, and stops its servers.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from checkers.text import limits
from checkers.text.printable import shorten
from harness.campaign.execution import LOGS, RUNS, TARGETS, Finished, Order, interrupt
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.core.exit_codes import ExitCode
from harness.files import received
from harness.files.received import components
from harness.processes.run_notes import temporary_folder

RESOURCE = "engine"
_TLS = (
    "a scheduler with TLS has the address tls://…, and needs distributed.comm.tls.ca-file, "
    "distributed.comm.tls.client.cert and distributed.comm.tls.client.key in Dask's configuration"
)
_PATIENCE = "15s"  # for the scheduler to answer
_MOST_SECONDS_TO_END = 180.0  # for interrupted runs to be judged and returned
_SECONDS_BETWEEN = 0.5  # between two looks for runs that had not begun at the last one

Run = Callable[[Order], Finished]


_Delivery = tuple[Finished, bytes]
"""A run that another machine made, with its files as a compressed tar archive."""


class DaskExecutor(Executor):
    """Makes runs on the workers of a scheduler."""

    def __init__(self, scheduler: str) -> None:
        """Connect to a scheduler, such as tcp://scheduler:8786.

        Raises ConfigurationError if Dask is not installed or its settings of TLS do not fit the
        address, and InfrastructureError if no scheduler answers or none of its workers has the resource.
        """
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise ConfigurationError(
                "--dask needs Dask, here and on every worker: pip install '.[dask]' in Fencepost's checkout"
            ) from None
        try:
            self._client = distributed.Client(scheduler, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InfrastructureError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        except (RuntimeError, TypeError) as error:  # a tls:// address without files, or another one
            raise ConfigurationError(f"--dask {scheduler}: {error}; {_TLS}") from None
        self._futures: dict[Future[Finished], Any] = {}
        self._campaign = uuid4().hex
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        self.workers = int(sum(worker["resources"].get(RESOURCE, 0) for worker in workers))
        if not self.workers:
            self._client.close()
            raise InfrastructureError(
                f"no worker of {scheduler} has the resource {RESOURCE}: start each with"
                f' `dask worker {scheduler} --resources "{RESOURCE}=1"`'
            )

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_none: Any) -> Future[Any]:
        """Send a run, an Order, to a worker; the future has what `fn` returned there."""
        (order,) = args
        source = (order.night / TARGETS / f"{order.job.cell}.toml").read_text(encoding="utf-8")
        future: Future[Finished] = Future()
        future.set_running_or_notify_cancel()
        sent = self._client.submit(
            _make, fn, order, source, self._campaign, resources={RESOURCE: 1}, pure=False
        )
        self._futures[future] = sent  # Dask drops results without a reference
        sent.add_done_callback(lambda done: self._receive(done, order, future))
        return future

    def _receive(self, done: Any, order: Order, future: Future[Finished]) -> None:
        try:
            finished = _unpacked(done.result(), order.night)
        except BaseException as error:  # noqa: BLE001 (any error there is the outcome of this run)
            finished = _lost(order, error)
        del self._futures[future]
        future.set_result(finished)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 (as its base)
        """Leave the cluster, after the runs in progress there were interrupted and have returned."""
        if cancel_futures:
            self._interrupt()
            self._client.cancel(list(self._futures.values()), force=True)
        self._client.close()

    def _interrupt(self) -> None:
        """Interrupt the runs on all workers until each has returned, or for three minutes."""
        deadline = time.monotonic() + _MOST_SECONDS_TO_END
        while self._futures and time.monotonic() < deadline:
            try:
                self._client.run(_interrupt_here, self._campaign, on_error="ignore")
            except OSError:  # the scheduler is gone, and its workers with it
                return
            wait(tuple(self._futures), timeout=_SECONDS_BETWEEN)


_NIGHTS: dict[str, set[Path]] = defaultdict(set)
"""On a worker: the temporary folder of each run, by campaign, because several may share a worker."""


def _interrupt_here(campaign: str) -> None:
    """Interrupt the runs of a campaign on this worker."""
    for night in tuple(_NIGHTS.get(campaign, ())):
        interrupt(night)


def _make(fn: Run, order: Order, source: str, campaign: str) -> _Delivery:
    """Make a run on a worker, in a temporary folder."""
    with temporary_folder() as night, _of_campaign(campaign, night):
        for name in (TARGETS, RUNS, LOGS):
            (night / name).mkdir()
        (night / TARGETS / f"{order.job.cell}.toml").write_text(source, encoding="utf-8")
        finished = fn(replace(order, night=night))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:xz") as archive:
            for name in filter(None, (finished.folder, f"{LOGS}/{order.job.id}.log")):
                if (night / name).exists():
                    archive.add(night / name, name)
    return finished, packed.getvalue()


@contextmanager
def _of_campaign(campaign: str, night: Path) -> Iterator[None]:
    """Remember on this worker which campaign a run belongs to."""
    _NIGHTS[campaign].add(night)
    try:
        yield
    finally:
        _NIGHTS[campaign].discard(night)
        if not _NIGHTS[campaign]:
            del _NIGHTS[campaign]


def _unpacked(delivery: _Delivery, night: Path) -> Finished:
    """Unpack the files of a run into the folder of the night."""
    finished, files = delivery
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        for number, member in enumerate(archive, start=1):
            if member.size > limits.HISTORY or number > received.MOST_FILES:
                raise ConfigurationError(f"{shorten(member.name)}: its worker sent more than any run writes")
            file = archive.extractfile(member) if member.isreg() else None
            if file is not None:
                with received.created(night, *components(member.name, "a worker's files")) as copied:
                    shutil.copyfileobj(file, copied)
    if finished.folder is None or finished.verdict is None:
        return finished
    history = night / finished.folder / Path(finished.verdict["history"]).name
    return replace(finished, verdict=finished.verdict | {"history": str(history)})


def _lost(order: Order, error: BaseException) -> Finished:
    return Finished(
        job=order.job,
        exit_code=ExitCode.INFRASTRUCTURE,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=0.0,
        folder=None,
        verdict=None,
        message=f"its worker failed: {type(error).__name__}: {error}",
    )
