"""What Dask workers send, and clusters that cannot be used."""

import io
import sys
import tarfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.campaign.dask_executor import DaskExecutor, _Delivery, _unpacked
from harness.campaign.night import Night
from harness.core.errors import ConfigurationError, HistoryError, InfrastructureError
from tests.support.campaign_runs import finished, job, plan

SOURCE = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["a"]\n'
needs_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="Dask is not installed: requirements-dask.lock"
)


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night.create(tmp_path / "nights", plan(job()), SOURCE)


@needs_dask
@pytest.mark.nightly
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("default")  # Dask's own
def test_workers_without_an_engine_are_refused() -> None:
    local: Any = import_module("distributed").LocalCluster
    with (
        local(n_workers=1, processes=False, dashboard_address=None) as cluster,
        pytest.raises(InfrastructureError, match=r"has the resource engine: start each with `dask worker"),
    ):
        DaskExecutor(cluster.scheduler_address)


def delivered(*members: tuple[str, str]) -> _Delivery:
    """What a worker sends: files by their names, each with its text; a name with an arrow is a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, text in members:
            member = tarfile.TarInfo(name.partition(" -> ")[0])
            if "->" in name:
                member.type, member.linkname = tarfile.SYMTYPE, name.partition(" -> ")[2]
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return finished(job(), 3), packed.getvalue()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../outside", "leads outside of its folder"),
        ("runs/../../outside", "leads outside of its folder"),
        ("{outside}", "leads outside of its folder"),
        ("runs/way/outside", "this is a symbolic link, and a folder is expected here"),
        ("plan.json", "exists and was not overwritten"),
    ],
)
def test_what_a_worker_sends_stays_in_new_files(night: Night, tmp_path: Path, name: str, why: str) -> None:
    (night.path / "runs" / "way").symlink_to(tmp_path)
    before = {file: file.read_text() for file in tmp_path.rglob("*") if file.is_file()}

    with pytest.raises((ConfigurationError, HistoryError), match=why):
        _unpacked(delivered((name.format(outside=tmp_path / "outside"), "theirs")), night.path)

    assert {file: file.read_text() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_link_that_a_worker_sends_is_left_out(night: Night) -> None:
    _unpacked(delivered(("logs/a-1.log -> /etc/passwd", ""), ("logs/a-2.log", "a log\n")), night.path)

    assert [file.name for file in (night.path / "logs").iterdir()] == ["a-2.log"]


@pytest.mark.parametrize(
    ("error", "becomes", "said"),
    [
        (OSError("timed out"), InfrastructureError, "no Dask scheduler answers at tls://far:1: timed out"),
        (
            RuntimeError("encryption required"),
            ConfigurationError,
            "encryption required; a scheduler with TLS",
        ),
        (
            TypeError("no tls.ca-file"),
            ConfigurationError,
            "no tls.ca-file; a scheduler with TLS has the address",
        ),
    ],
    ids=["no answer", "plain where encryption is required", "no certificate"],
)
def test_a_scheduler_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, becomes: type[Exception], said: str
) -> None:
    def client(*_: object, **_options: object) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=client))

    with pytest.raises(becomes, match=said):
        DaskExecutor("tls://far:1")


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(ConfigurationError, match=r"pip install '\.\[dask\]' in Fencepost's checkout"):
        DaskExecutor("tcp://127.0.0.1:1")
