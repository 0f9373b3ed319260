"""Names from data: what may be a path, what is read, what is written and what is removed."""

import filecmp
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.history.files import read_bytes
from checkers.text import limits
from checkers.text.errors import HistoryError
from harness.core.errors import ConfigurationError, ResourceExhaustedError
from harness.files import received, run_files

MOST = 100  # bytes
BAD_NAMES = ("", ".", "..", "/etc", "a/b", "a\n", "\na", "a\0", "-a", ".a", "a b", "é", "a" * 201, "a\\b")


@pytest.mark.parametrize("name", ["a", "7", "etcd-postgres_1.2", "20261122T060446-0752bc", "a" * 200])
def test_a_name_of_letters_and_digits_may_name_a_file(name: str) -> None:
    assert received.component(name, "plan.json") == name


@pytest.mark.parametrize("name", [*BAD_NAMES, None, 7, ["a"]])
def test_any_other_name_from_data_is_refused(name: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^plan\.json: .* cannot be the name of a file: "):
        received.component(name, "plan.json")


@pytest.mark.parametrize("path", ["", "/etc", "a//b", "a/", "../a", "a/../b", "a/./b", "a/.b", "a/b\n"])
def test_a_path_from_data_has_only_such_names(path: str) -> None:
    assert received.components("runs/a/b", "results.jsonl") == ("runs", "a", "b")
    with pytest.raises(ConfigurationError, match="leads outside of its folder"):
        received.components(path, "results.jsonl")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no device can be made here")


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    path.symlink_to(path.parent / "real")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


KINDS = (pipe, device, folder, link, huge)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_only_regular_files_up_to_the_limit_are_read(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    (tmp_path / "real").write_text("real")
    kind(tmp_path / "f")

    with pytest.raises(HistoryError, match=r"/f: "):
        received.read(tmp_path, "f", most=MOST)
    with pytest.raises(HistoryError, match=r"/f: "):
        received.size(tmp_path, "f", most=MOST)
    assert received.read(tmp_path, "real", most=MOST) == b"real"
    assert received.read(tmp_path, "none", most=MOST) is None
    assert received.read(tmp_path, "none", "f", most=MOST) is None


def test_a_json_file_with_too_many_values_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "VALUES", 7)
    (tmp_path / "few.json").write_text('{"a": [[], [], 1]}')
    (tmp_path / "many.json").write_text('{"a": [[], [], [], 1]}')

    assert received.read_json(tmp_path, "few.json", most=100) == b'{"a": [[], [], 1]}'
    with pytest.raises(HistoryError, match=r"many.json: it has more than 7 values"):
        received.read_json(tmp_path, "many.json", most=100)


@pytest.mark.parametrize("name", [name for name in run_files.MOST if name.endswith(".json")])
def test_documents_have_a_limit_of_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(limits, "VALUES", 2)
    (tmp_path / name).write_text("[[],1]")

    with pytest.raises(HistoryError, match="more than 2 values"):
        run_files.content(tmp_path, name)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_only_regular_files_are_removed(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    (tmp_path / "real").write_text("real")
    kind(tmp_path / "f")

    assert received.remove(tmp_path, "f") is (kind is huge)
    assert received.remove(tmp_path, "real")
    assert not received.remove(tmp_path, "real")
    assert os.path.lexists(tmp_path / "f") is (kind is not huge)


WAYS: dict[str, Callable[[Path], object]] = {
    "read": lambda root: received.read(root, "way", "secret", most=MOST),
    "listed": lambda root: received.listed(root, "way"),
    "created": lambda root: received.created(root, "way", "new").__enter__(),
    "created deeper": lambda root: received.created(root, "way", "deep", "new").__enter__(),
    "copied from": lambda root: received.copy(root, ("way", "secret"), root / "to", most=MOST),
    "copied to": lambda root: received.copy(root / "in", ("way", "secret"), root, most=MOST),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_root_may_be_a_link_but_no_folder_below_it(tmp_path: Path, way: str) -> None:
    (tmp_path / "outside" / "in" / "way").mkdir(parents=True)
    (tmp_path / "outside" / "in" / "secret").write_text("secret")
    (tmp_path / "outside" / "in" / "way" / "secret").write_text("other")
    (tmp_path / "outside" / "to").mkdir()
    (tmp_path / "outside" / "way").symlink_to("in")
    (tmp_path / "root").symlink_to("outside")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(HistoryError, match="this is a symbolic link, and a folder is expected here"):
        WAYS[way](tmp_path / "root")

    assert received.read(tmp_path / "root", "in", "secret", most=MOST) == b"secret"
    assert not received.remove(tmp_path / "root", "way", "secret")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_that_cannot_be_opened_is_refused(tmp_path: Path, way: str) -> None:
    (tmp_path / "root").symlink_to("root")

    with pytest.raises(HistoryError, match=r"root.*: it cannot be read: Too many levels of symbolic links"):
        WAYS[way](tmp_path / "root")


def test_a_file_without_its_folder_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"/none/deep/f: there is no such file"):
        read_bytes(tmp_path / "none/deep/f", MOST, within=tmp_path / "none")


def test_no_function_climbs_out_of_its_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_text("secret")

    with pytest.raises(HistoryError):
        received.read(tmp_path / "root", "..", "secret", most=MOST)
    with pytest.raises(HistoryError), received.created(tmp_path / "root", "..", "new"):
        pass
    assert not received.remove(tmp_path / "root", "..", "secret")
    assert {path.name for path in tmp_path.iterdir()} == {"root", "secret"}


def test_a_file_is_created_with_its_folders_and_never_overwritten(tmp_path: Path) -> None:
    with received.created(tmp_path, "a", "b", "new") as file:
        file.write(b"first")

    with (
        pytest.raises(ConfigurationError, match="exists and was not overwritten"),
        received.created(tmp_path, "a", "b", "new"),
    ):
        pass
    assert (tmp_path / "a" / "b" / "new").read_bytes() == b"first"
    assert stat.S_IMODE((tmp_path / "a" / "b" / "new").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_full_disk_is_an_error_of_the_new_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ResourceExhaustedError, match=r"/a/new cannot be written: the disk is full"),
        received.created(tmp_path, "a", "new"),
    ):
        Path("/dev/full").write_bytes(b"x")


def test_a_link_in_the_place_of_a_new_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "new").symlink_to("elsewhere")

    with pytest.raises(ConfigurationError, match="exists"), received.created(tmp_path, "new"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_files_of_a_folder_are_found_without_our_own_links(tmp_path: Path) -> None:
    for name in ("f", "runs/1/g", "runs/2/h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "runs" / "latest").symlink_to("2")

    found = received.regular_files(tmp_path, most=MOST)

    assert sorted(found) == [("f",), ("runs", "1", "g"), ("runs", "2", "h")]


@pytest.mark.parametrize("kind", [pipe, device, link, huge], ids=lambda kind: kind.__name__)
def test_a_folder_with_anything_else_is_refused(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    kind(tmp_path / "f")

    with pytest.raises(HistoryError, match=r"/f: "):
        received.regular_files(tmp_path, most=MOST)


def test_a_folder_with_an_impossible_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a\nb").touch()

    with pytest.raises(ConfigurationError, match=r"'a\\nb' cannot be the name of a file"):
        received.regular_files(tmp_path, most=MOST)


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received, "MOST_FILES", 3)
    for name in "abcd":
        (tmp_path / name).touch()

    with pytest.raises(HistoryError, match="it has more than 3 files"):
        received.listed(tmp_path)


def test_a_folder_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (received.DEEPEST + 1))
    deep.parent.mkdir(parents=True)
    assert received.regular_files(tmp_path, most=MOST) == []

    deep.mkdir()
    with pytest.raises(HistoryError, match="16 folders within one another: it is not from a run"):
        received.regular_files(tmp_path, most=MOST)


@pytest.mark.slow
def test_a_copy_keeps_what_is_there_and_the_holes(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b"begin")
        file.seek(64 << 20)
        file.write(b"middle")
        file.truncate(200 << 20)
    (tmp_path / "to").mkdir()

    received.copy(tmp_path, ("a",), tmp_path / "to", most=1 << 30)

    copied = tmp_path / "to/a"
    assert filecmp.cmp(tmp_path / "a", copied, shallow=False)
    assert copied.stat().st_blocks * 512 < 8 << 20


def test_the_holes_of_a_copied_file_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.seek(1 << 40)
        file.write(b"end")
    (tmp_path / "to").mkdir()

    received.copy(tmp_path, ("a",), tmp_path / "to", most=2 << 40)

    with (tmp_path / "to/a").open("rb") as copied:
        copied.seek(1 << 40)
        assert copied.read() == b"end"
