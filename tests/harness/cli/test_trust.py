"""Programs of a received run start only with --trust, which is needed once."""

import json
from contextlib import closing
from pathlib import Path
from shutil import copy

import pytest

from harness.campaign.night import Night
from harness.cli.shrink_run import shrink_history, shrink_target, trusted_target
from harness.core.exit_codes import ExitCode
from harness.engines.local import LocalEngine
from harness.run.runner import RunOptions, run
from harness.spec import load
from harness.spec.executed import executed_here
from tests.support.campaign_runs import job, plan
from tests.support.command import fencepost, refusal, refused
from tests.support.recorded_runs import Unpack
from tests.support.repository import ROOT
from tests.support.target_files import OWN_PROGRAM, SMALL

OWN = {
    "program": OWN_PROGRAM.replace("./client", "{evil}"),
    "class": """\
name = "own"
expect = "valid"
lock = { kind = "evil:Lock", token = "x" }
storage = { kind = "evil:Storage", fencing = "x" }
""",
    "image": SMALL.replace('kind = "etcd"', 'kind = "etcd"\nimage = "evil/etcd:1"'),
    "url": SMALL.replace('kind = "etcd"', 'kind = "http"\nurl = "http://evil.example"'),
    "servers": SMALL.replace('kind = "etcd"', 'kind = "etcd"\nservers = ["evil.example:2379"]'),
    "endpoints": """\
name = "own"
expect = "valid"
lock = { kind = "evil:Lock", token = "x", endpoints = ["evil.example:1"] }
storage = { kind = "sqlite", fencing = "none" }
""",
    "script": SMALL.replace('kind = "etcd"', 'kind = "etcd"\nservers = ["127.0.0.1:2379"]')
    + """
[[faults]]
kind = "script"
target = "lock"
every = "9s"
lasts = "2s"
inject = ["touch", "evil"]
observe = ["true"]
heal = ["true"]
""",
    "varied": SMALL + '[vary]\n"lock.image" = ["evil/etcd:1"]\n',
}
SHOWN = {"endpoints": '\n  lock.endpoints: ["evil.example:1"]\n'}
"""What is asked about has the name that the target gives it."""

OWN_LOCK = """\
name = "{name}"
expect = "valid"
lock = {{ kind = "files:FileLock", ttl = "1s" }}
storage = {{ kind = "{storage}", fencing = "conditional-update" }}
workload = {{ duration = "1s" }}
require = {{ stale_writes_attempted = 0 }}
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def received(recorded_run: Unpack) -> Path:
    """A run with a violation, as a stranger may have sent it."""
    return recorded_run("etcd-postgres-unfenced")


@pytest.mark.slow
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("command", ["run", "shrink"])
def test_a_received_run_starts_no_own_code(received: Path, tmp_path: Path, kind: str, command: str) -> None:
    target = received / "target.toml"
    target.write_text(OWN[kind].replace("{evil}", str(tmp_path / "evil")))

    said = refusal(tmp_path, command, target)

    assert "is from a recorded run, and would execute what has not run on this machine:\n  " in said
    assert SHOWN.get(kind, "evil") in said
    assert "add --trust if you trust it" in said
    assert not (tmp_path / "runs").exists()
    assert not (received / "minimal-runs").exists()


TLS = SMALL.replace(
    'kind = "etcd"',
    """kind = "etcd"
servers = ["127.0.0.1:2379"]
user = "me"
password_file = "password"
ca_file = "ca.pem"
cert_file = "cert.pem"
key_file = "key.pem\"""",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("127.0.0.1:2379", "127.0.0.1:2380"),
        ('password_file = "password"', 'password_file = "other"'),
        ('password_file = "password"', 'password_env = "PASSWORD"'),
        ("ca.pem", "other"),
        ("cert.pem", "other"),
        ("key.pem", "other"),
    ],
)
def test_another_service_password_or_certificate_is_asked_about(
    received: Path, tmp_path: Path, was: str, becomes: str
) -> None:
    target = received / "target.toml"
    target.write_text(TLS)
    executed_here_in(tmp_path, target)
    known = refused(tmp_path, "run", "--engine", "local", target)
    assert was in TLS
    target.write_text(TLS.replace(was, becomes))

    assert "--trust" not in known.stderr
    assert "add --trust if you trust it" in refused(tmp_path, "run", target).stderr


def test_what_a_run_executes_is_known_as_soon_as_it_starts(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(OWN_PROGRAM.replace("./client\\n", "true"))
    target = load(tmp_path / "t.toml")
    assert not executed_here(target).is_trusted

    with closing(run(target, LocalEngine(), RunOptions(runs=tmp_path / "runs"))) as events:
        next(events)

    assert executed_here(target).is_trusted


def test_no_value_starts_a_line_of_its_own(received: Path, tmp_path: Path) -> None:
    (received / "target.toml").write_text(OWN_PROGRAM)

    said = refused(tmp_path, "run", received / "target.toml").stderr

    assert '\n  client.command: ["./client\\n"]\n' in said
    assert f'\n  in the folder: "{tmp_path}"\n' in said


@pytest.mark.parametrize("named", ["the run's folder", "its target", "a link to its target"])
def test_a_link_in_a_received_run_leads_past_no_question(received: Path, tmp_path: Path, named: str) -> None:
    (received / "inner").mkdir()
    (received / "inner/x.toml").write_text(OWN_PROGRAM)
    (received / "target.toml").unlink()
    (received / "target.toml").symlink_to("inner/x.toml")
    (tmp_path / "mine.toml").symlink_to(received / "target.toml")
    words = {"the run's folder": received, "its target": received / "target.toml"}

    said = refusal(tmp_path, "run", "--engine", "local", words.get(named, tmp_path / "mine.toml"))

    assert "is from a recorded run, and would execute what has not run on this machine:" in said


def test_trust_is_needed_once(received: Path, tmp_path: Path) -> None:
    (received / "target.toml").write_text(OWN_PROGRAM)

    first = refused(tmp_path, "run", "--trust", "--engine", "local", received / "target.toml")
    again = refused(tmp_path, "run", "--engine", "local", received / "target.toml")

    for done in (first, again):  # it gets as far as the program, which is missing
        assert "--trust" not in done.stderr
        assert "client" in done.stderr


def test_options_cannot_smuggle_a_program_into_a_received_run(received: Path, tmp_path: Path) -> None:
    (received / "target.toml").write_text(OWN_PROGRAM)
    executed_here_in(tmp_path, received / "target.toml")

    known = refused(tmp_path, "run", "--engine", "local", received / "target.toml")
    assert "--trust" not in known.stderr
    assert "--trust" in refusal(
        tmp_path, "run", received / "target.toml", "--set", 'client.command=["./evil"]'
    )


def test_the_history_is_shrunk_without_trust(received: Path, tmp_path: Path) -> None:
    (received / "target.toml").write_text(OWN_PROGRAM)

    done = fencepost(tmp_path, "shrink", "--no-runs", received)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr


def test_shrink_runs_the_target_that_it_asked_about(received: Path) -> None:
    """Shrinking the history takes minutes, in which somebody else may replace the file."""
    trusted = trusted_target(received, trust=False)
    (received / "target.toml").write_text(OWN_PROGRAM)
    finding = shrink_history(received)

    shrink_target(received, finding, "local", trusted, repeat=1, seconds=0)

    assert "command" not in (received / "minimal.toml").read_text()


@pytest.mark.slow
def test_a_run_without_a_seed_says_so(received: Path, tmp_path: Path) -> None:
    (received / "header.json").unlink()

    said = refusal(tmp_path, "shrink", "--engine", "local", received)

    assert "has no seed in header.json to run again: give --no-runs" in said


def test_what_has_run_in_another_folder_is_not_trusted_here(
    received: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (received / "target.toml").write_text(OWN_PROGRAM)
    target = load(received / "target.toml")
    monkeypatch.chdir(tmp_path)
    executed_here(target).trust()
    assert executed_here(target).is_trusted

    monkeypatch.setenv("PYTHONPATH", str(received))
    assert not executed_here(target).is_trusted
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.chdir(received)
    assert not executed_here(target).is_trusted


@pytest.mark.parametrize("name", ["etcd-postgres-unfenced", "check-then-write"])  # kinds, and a class
def test_what_ships_needs_no_trust(recorded_run: Unpack, name: str) -> None:
    assert executed_here(load(recorded_run(name) / "target.toml")).settings == ()


def test_no_printed_command_starts_code_of_a_received_run(received: Path, tmp_path: Path) -> None:
    (received / "target.toml").write_text(OWN_PROGRAM)
    environment = json.loads((received / "environment.json").read_text())
    environment |= {"folder": str(received), "pythonpath": str(received), "again": ["--set", "x=y"]}
    (received / "environment.json").write_text(json.dumps(environment))

    printed = fencepost(tmp_path, "recheck", received).stdout

    assert "PYTHONPATH=" not in printed
    assert "cd " not in printed
    assert "--set" not in printed
    assert '  client.command: ["./client\\n"]\n' in printed
    assert "PYTHONPATH=" not in (received / "junit.xml").read_text()
    page = (received / "report.html").read_text()
    assert "PYTHONPATH=" not in page
    assert "<p>  client.command: [" in page


def test_a_received_night_is_not_resumed_with_programs_of_its_own(tmp_path: Path) -> None:
    own, theirs = (OWN_PROGRAM.replace("own", name) for name in ("mine", "theirs"))
    (tmp_path / "mine.toml").write_text(own)
    (tmp_path / "nightly.toml").write_text('name = "nightly"\n[[cells]]\ntargets = ["mine.toml"]\n')
    night = Night.create(tmp_path / "nights", plan(job("mine"), job("theirs")), "")
    (night.path / "targets" / "mine.toml").write_text(own)
    (night.path / "targets" / "theirs.toml").write_text(theirs.replace("./client", "./evil"))

    said = refusal(tmp_path, "campaign", "--resume", "--engine", "local", "nightly.toml")

    assert f"{night.path.resolve()}/targets/theirs.toml is from a recorded run" in said
    assert "start a new night, without --resume" in said
    assert "mine.toml is" not in said


@pytest.mark.slow
def test_a_campaign_runs_every_class_that_its_file_names(tmp_path: Path) -> None:
    copy(ROOT / "examples/own-class/files.py", tmp_path)
    for name, storage in (("first", "files:FileStorage"), ("second", "sqlite")):
        (tmp_path / f"{name}.toml").write_text(OWN_LOCK.format(name=name, storage=storage))
    (tmp_path / "nightly.toml").write_text(
        'name = "nightly"\ncanary = false\nworkers = 1\n[[cells]]\ntargets = ["first.toml", "second.toml"]\n'
    )

    done = fencepost(tmp_path, "campaign", "--engine", "local", "nightly.toml")

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    assert "2 passing" in done.stdout


@pytest.mark.parametrize(
    ("others", "target", "folder"),
    [
        (("header.json", "plan.json"), "logs/of/theirs.toml", "."),
        (("header.json", "plan.json"), "theirs.toml", "logs/of"),
        (("plan.json", "results.jsonl"), "targets/theirs.toml", "."),
    ],
    ids=["below a run", "inside of a run", "of a night"],
)
def test_a_target_in_a_received_folder_is_asked_about(
    tmp_path: Path, others: tuple[str, ...], target: str, folder: str
) -> None:
    for name in others:
        (tmp_path / name).touch()
    file = tmp_path / folder / target
    file.parent.mkdir(parents=True)
    file.write_text(OWN_PROGRAM)

    assert f"{target} is from a recorded run" in refusal(
        tmp_path / folder, "run", "--engine", "local", target
    )


def executed_here_in(folder: Path, target: Path) -> None:
    """Keep that the user has run a target from a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", str(ROOT))  # as the command has it
        executed_here(load(target)).trust()
