"""Which page `show` opens: one that this machine wrote, otherwise one that is drawn from the history."""

import json
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from harness.files.atomic_files import replace_file
from harness.report import write
from harness.run.recheck import recheck
from harness.run.show import show
from tests.support.report_folder import VERDICT, run_folder

EVIL = "<script>evil()</script>"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of drawn pages."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fencepost" / "pages"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return run_folder(tmp_path / "run")


def shown(folder: Path, captured: Captured) -> Path:
    captured.readouterr()
    assert not show(folder, environment={})
    return Path(captured.readouterr().out.removesuffix("\n"))


def test_a_page_that_this_machine_wrote_is_shown(folder: Path, capsys: Captured) -> None:
    recheck(folder)

    assert shown(folder, capsys) == folder / "report.html"


@pytest.mark.parametrize("exposed", ["run/report.html", "run", "."])
def test_a_copy_is_shown_of_exposed_pages(folder: Path, pages: Path, capsys: Captured, exposed: str) -> None:
    recheck(folder)
    (folder.parent / exposed).chmod(0o777)

    page = shown(folder, capsys)

    assert page.parent == pages
    assert page.read_bytes() == (folder / "report.html").read_bytes()


def test_a_page_replaced_while_it_was_written_is_drawn_again(
    folder: Path, pages: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def replaced_at_once(path: Path, chunks: Iterable[str]) -> None:
        replace_file(path, chunks)
        path.write_text(EVIL)

    monkeypatch.setattr("harness.report.run.replace_file", replaced_at_once)
    recheck(folder)

    assert shown(folder, capsys).parent == pages


def test_a_page_of_a_stranger_is_drawn_again(folder: Path, pages: Path, capsys: Captured) -> None:
    (folder / "report.html").write_text(EVIL)

    page = shown(folder, capsys)

    assert page.parent == pages
    assert EVIL not in page.read_text()
    assert (folder / "report.html").read_text() == EVIL
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(pages.stat().st_mode) == 0o700


def test_a_page_that_was_changed_is_drawn_again(folder: Path, pages: Path, capsys: Captured) -> None:
    recheck(folder)
    report = folder / "report.html"
    report.write_text(report.read_text() + EVIL)

    assert shown(folder, capsys).parent == pages


def test_a_page_is_drawn_from_the_history_not_from_the_verdict(folder: Path, capsys: Captured) -> None:
    (folder / "verdict.json").write_text(json.dumps(VERDICT | {"reasons": ["nobody judged this"]}))

    page = shown(folder, capsys)

    assert "nobody judged this" not in page.read_text()
    assert "stale write" in page.read_text()


def test_one_sentence_says_that_a_page_was_drawn_again(folder: Path, capsys: Captured) -> None:
    show(folder, environment={})

    said = f"{folder} has no report.html that this machine wrote: its history was judged, and drawn here\n"
    assert capsys.readouterr().err == said


def test_only_the_newest_pages_are_kept(folder: Path, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.files.user_folders.MOST_PAGES", 2)
    for seed in range(4):
        (folder / "plan.json").write_text(json.dumps({"seed": seed}))
        show(folder, environment={})

    assert len([*pages.iterdir()]) == 2


def test_a_written_report_is_one_of_this_machine(folder: Path, capsys: Captured) -> None:
    write(folder)

    assert shown(folder, capsys) == folder / "report.html"
