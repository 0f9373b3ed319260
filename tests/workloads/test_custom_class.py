"""The user's own classes as lock and storage: loaded, run, or refused if they do not fit."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.challenged import run_until_challenged
from tests.support.command import fencepost, ran, refused, run_target, run_words
from tests.support.repository import ROOT

EXAMPLE = ROOT / "examples/own-class"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "own-class")
    return tmp_path / "own-class"


CHANGED = """
from files import FileLock, FileStorage

class NotSent(FileStorage):
    def write(self, resource, token, value):
        pass

held = object.__new__(FileLock)

async def acquire(resource, owner):
    pass
"""


def run(folder: Path, *settings: str) -> CompletedProcess[str]:
    return run_until_challenged(
        lambda duration: run_target(folder, "files.toml", duration, *settings), seconds=6
    )


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        pytest.param((), "valid", marks=pytest.mark.slow),
        pytest.param(("storage.fencing=none", 'expect=["stale-write"]'), "invalid", marks=pytest.mark.slow),
    ],
)
def test_the_example_runs_and_is_judged(folder: Path, settings: tuple[str, ...], verdict: str) -> None:
    done = run(folder, *settings)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == verdict
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert {"committed", "observed"} == {each["evidence"] for each in document["checkers"]}
    assert f"run again    cd {folder} && PYTHONPATH={ROOT} " in done.stderr


@pytest.mark.slow
def test_moments_that_a_class_never_reports_are_not_required(folder: Path) -> None:
    aimed = '["before-write/superseded", "granted/expired", "renewing/expired"]'
    settings = (
        "lock.ttl=300ms",
        f'faults=[{{kind="pause",target="holder",hazards={aimed}}}]',
        "require={hazards='all'}",
    )
    done = run_until_challenged(
        lambda duration: run_target(folder, "files.toml", duration, *settings),
        6,
        lambda verdict: verdict["hazards"]["possible"] == 1 and not verdict["hazards"]["missed"],
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    hazards = document["hazards"]
    assert document["verdict"] == "valid"
    assert (hazards["missed"], hazards["untried"]) == ([], 15)
    assert hazards["unreached"] == ["granted", "renewing"]
    again = fencepost(folder, "recheck", "--format", "json", "runs/files/latest")
    assert json.loads(again.stdout)["hazards"] == hazards


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("lock.kind=nowhere:Lock", "files: lock.kind: nowhere:Lock cannot be loaded: ModuleNotFoundError"),
        ("lock.kind=nowhere:Lock", "the installed packages; the current folder, /"),
        ("lock.kind=leaving:Lock", "files: lock.kind: leaving:Lock cannot be loaded: SystemExit: 7"),
        ("lock.kind=files:Nothing", "files: lock.kind: files:Nothing cannot be loaded: AttributeError"),
        ("lock.kind=files:FileStorage", "files:FileStorage has no acquire, no release, no revoke, no close"),
        ("storage.kind=files:FileLock", "files:FileLock has no write, no read"),
        (
            "storage.kind=changed:NotSent",
            "files: storage.kind: changed:NotSent.write takes resource, token, value",
        ),
        ("lock.kind=changed:held", "files: lock.kind: changed:held is an instance of FileLock: name a class"),
        (
            "lock.kind=changed:acquire",
            "files: lock.kind: changed:acquire is a function: name a class that has",
        ),
        ("storage.kind=files:", 'storage.kind = "files:": must be "package.module:Class"'),
        ("lock.nodes=3", "nodes, image and memory are for servers that Fencepost starts: set server too"),
    ],
)
def test_an_invalid_class_is_refused_in_one_sentence(folder: Path, setting: str, said: str) -> None:
    (folder / "changed.py").write_text(CHANGED)
    (folder / "leaving.py").write_text("import sys\nsys.exit(7)\n")

    done = refused(folder, *run_words("files.toml", setting))

    assert done.returncode == 4
    assert said in done.stderr
    assert "Traceback" not in done.stderr


RAISING = """
import sys
from files import FileLock, FileStorage

class NoHost(FileLock):
    def __init__(self, settings, session):
        raise RuntimeError("no host")

class NoTable(FileStorage):
    @staticmethod
    def set_up(settings, resources):
        raise KeyError("table")

class NoLog(FileStorage):
    @staticmethod
    def committed(settings):
        sys.exit("no log")
        yield

class Leaving(FileLock):
    def acquire(self, resource, owner):
        sys.exit("bye")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "lock.kind=raising:NoHost",
            "raising:NoHost raised in __init__: RuntimeError: no host (raising.py:7",
        ),
        (
            "storage.kind=raising:NoTable",
            "raising:NoTable raised in set_up: KeyError: 'table' (raising.py:12",
        ),
        (
            "storage.kind=raising:NoLog",
            "raising:NoLog raised in committed: SystemExit: no log (raising.py:17",
        ),
    ],
)
def test_an_error_outside_of_operations_names_class_method_and_line(
    folder: Path, setting: str, said: str
) -> None:
    (folder / "raising.py").write_text(RAISING)

    done = run_target(folder, "files.toml", "workload.duration=2s", setting, "faults=[]")

    assert done.returncode == 3
    assert said in done.stderr


TALKING = """
import files

print("imported")

class Lock(files.FileLock):
    def __init__(self, settings, session):
        print("connected")
        super().__init__(settings, session)

class Storage(files.FileStorage):
    @staticmethod
    def set_up(settings, resources):
        print("set up")
        files.FileStorage.set_up(settings, resources)

    @staticmethod
    def committed(settings):
        print("asked")
        for commit in files.FileStorage.committed(settings):
            print("read")
            yield commit
"""


@pytest.mark.slow
def test_what_a_class_prints_is_no_part_of_the_document(folder: Path) -> None:
    (folder / "talking.py").write_text(TALKING)
    kinds = ("lock.kind=talking:Lock", "storage.kind=talking:Storage")

    done = run_target(folder, "files.toml", "workload.duration=2s", *kinds, "faults=[]")

    assert json.loads(done.stdout)["target"] == "files"
    assert {"imported", "set up", "asked", "read"} <= set(done.stderr.splitlines())


@pytest.mark.slow
def test_an_exit_in_an_operation_is_an_error_like_any_other(folder: Path) -> None:
    (folder / "raising.py").write_text(RAISING)

    done = run_target(folder, "files.toml", "workload.duration=6s", "lock.kind=raising:Leaving")

    assert done.returncode == 2
    assert "raised SystemExit: bye (raising.py:22, in acquire)" in done.stderr


def test_the_page_about_own_classes_shows_a_real_refusal(folder: Path) -> None:
    (shown,) = re.findall(r"```\n(.*?)```", (ROOT / "docs/targets/own-class.md").read_text(), re.DOTALL)
    (folder / "mine.py").write_text(CHANGED.replace("NotSent", "Table"))

    done = refused(folder, *run_words("files.toml", "storage.kind=mine:Table", "name=mine"))

    assert (done.returncode, done.stderr) == (4, shown)


@pytest.mark.nightly
def test_a_class_may_delegate_missing_methods(folder: Path) -> None:
    handing_on = """
from files import FileLock

class Around:
    def __init__(self, settings, session):
        self._lock = FileLock(settings, session)

    def acquire(self, resource, owner):
        return self._lock.acquire(resource, owner)

    def __getattr__(self, name):
        return getattr(self._lock, name)
"""
    (folder / "around.py").write_text(handing_on)

    done = run(folder, "lock.kind=around:Around")

    assert done.returncode == 0, done.stderr


HOSTILE = (
    *("json.py", "socket.py", "signal.py", "selectors.py", "random.py"),
    *("msgspec.py", "psutil.py", "numpy.py", "sitecustomize.py", "usercustomize.py"),
    *("multiprocessing/__init__.py", "harness/__init__.py", "harness/processes/fork_server_setup.py"),
    *("harness/processes/cleanup_process.py", "workloads/__init__.py", "checkers/__init__.py"),
)
LEAVES_A_MARK = """
import os, sys
os.close(os.open({mark!r} + "/" + __name__, os.O_CREAT | os.O_WRONLY))
raise ImportError(__name__)
"""


@pytest.fixture
def hostile(folder: Path, tmp_path: Path) -> Path:
    """Put files into the folder that leave a mark when they are imported; return the folder of marks."""
    marks = tmp_path / "marks"
    marks.mkdir()
    for name in HOSTILE:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(LEAVES_A_MARK.format(mark=str(marks)))
    return marks


def called_as_installed(folder: Path, *words: str) -> CompletedProcess[str]:
    """Call the command without anything of ours in its environment."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return ran([Path(sys.executable).with_name("fencepost"), *words], cwd=folder, env=clean)


@pytest.mark.slow
def test_only_the_class_is_imported_from_the_current_folder(folder: Path, hostile: Path) -> None:
    done = run_until_challenged(
        lambda duration: called_as_installed(folder, *run_words("files.toml", duration)), seconds=6
    )

    assert sorted(mark.name for mark in hostile.iterdir()) == []
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_an_installed_module_is_not_taken_from_the_current_folder(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "pyclbr"
    (folder / "pyclbr.py").write_text(LEAVES_A_MARK.format(mark=str(tmp_path)))

    done = called_as_installed(folder, *run_words("files.toml", "lock.kind=pyclbr:Class"))

    assert "pyclbr:Class has no acquire, no release" in done.stderr
    assert not mark.exists()


@pytest.mark.slow
def test_a_users_program_keeps_its_own_import_path(folder: Path, hostile: Path) -> None:
    (folder / "neighbor.py").write_text("")
    program = (
        (ROOT / "tests/support/line_program.py")
        .read_text()
        .replace("import time\n", "import time, neighbor\n", 1)
    )
    lies_in = hostile.parent / "program"
    lies_in.mkdir()
    (lies_in / "line_program.py").write_text(program)
    (lies_in / "neighbor.py").write_text("")
    command = json.dumps([sys.executable, str(lies_in / "line_program.py"), str(folder / "file.db")])
    (folder / "mine.toml").write_text(
        f'name = "mine"\nexpect = "valid"\n[client]\ncommand = {command}\n'
        '[lock]\nkind = "client"\nttl = "1s"\n'
        '[storage]\nkind = "client"\nfencing = "compare and write"\n'
        "[require]\nstale_writes_attempted = 0\n"
    )

    done = called_as_installed(folder, "run", "--set", "workload.duration=3s", "mine.toml")

    assert sorted(mark.name for mark in hostile.iterdir()) == []
    assert done.returncode == 0, done.stderr
