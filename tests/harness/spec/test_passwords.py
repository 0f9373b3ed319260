"""Passwords: a target names where one is and never contains it, and none is ever shown."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from checkers.text.printable import message
from checkers.text.redaction import HIDDEN, redacted, redacted_document
from harness.cli import main
from harness.clients.recorder import RecordedSession, Recorder
from harness.core.errors import ConfigurationError
from harness.files.run_folder import RunFolder
from harness.run import deployment
from harness.spec import load

SECRET = "hunter2-correct-horse"  # noqa: S105 - for nothing
OWN = """\
name = "own"
expect = "valid"
[lock]
kind = "mine:Lock"
{lock}
[storage]
kind = "mine:Storage"
fencing = "yes"
{storage}
"""


@pytest.fixture
def target(tmp_path: Path) -> Any:
    """Write a target whose lock and storage are classes, and return its path."""

    def write(lock: str = "", storage: str = "", more: str = "") -> Path:
        path = tmp_path / "own.toml"
        path.write_text(OWN.format(lock=lock, storage=storage) + more)
        return path

    return write


@pytest.mark.parametrize(
    "line",
    [
        f'password = "{SECRET}"',
        f'passwd = "{SECRET}"',
        f'api_key = "{SECRET}"',
        f'token = "redis://user:{SECRET}@host:6379/0"',
        f'token = "postgres://:{SECRET}@host"',
        f'token = "host=a password={SECRET}"',
        f'image = "http://user:{SECRET}@registry/a"',
        f'token = "https://host/?password={SECRET}"',
    ],
)
@pytest.mark.parametrize("side", ["lock", "storage"])
def test_a_password_in_a_target_file_is_refused_without_showing_it(target: Any, side: Any, line: Any) -> None:
    line = line.replace("token", "fencing") if side == "storage" else line
    text = target(**{side: line})
    if side == "storage":
        text.write_text(
            text.read_text().replace('fencing = "yes"\n', "", 1) if "fencing = " in line else text.read_text()
        )

    with pytest.raises(ConfigurationError, match="password_env") as refused:
        load(text)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        ["app", f"--password={SECRET}"],
        ["app", "--db-password", SECRET],
        ["app", f"postgres://u:{SECRET}@h/db"],
        ["env", f"PGPASSWORD={SECRET}", "app"],
    ],
)
def test_a_password_in_a_command_is_refused_without_showing_it(target: Any, command: Any) -> None:
    with pytest.raises(ConfigurationError, match="set an environment variable") as refused:
        load(target(more=f"[client]\ncommand = {json.dumps(command)}\n"))

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("kind", ["lock", "storage"])
def test_a_password_in_a_url_is_refused_without_showing_it(tmp_path: Path, kind: str) -> None:
    sections = {"lock": 'kind = "etcd"', "storage": 'kind = "sqlite"\nfencing = "none"'}
    sections[kind] = f'kind = "http"\nurl = "http://user:{SECRET}@127.0.0.1:1"' + '\nfencing = "none"' * (
        kind == "storage"
    )
    path = tmp_path / "t.toml"
    path.write_text(
        f'name = "t"\nexpect = "valid"\n[lock]\n{sections["lock"]}\n[storage]\n{sections["storage"]}\n'
    )

    with pytest.raises(ConfigurationError, match="a password does not belong") as refused:
        load(path)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "option",
    [
        f"lock.password={SECRET}",
        f'lock.token="redis://u:{SECRET}@h"',
        f'client.command=["a", "--password", "{SECRET}"]',
    ],
)
def test_a_password_in_a_setting_is_refused_without_showing_it(
    target: Any, capsys: pytest.CaptureFixture[str], option: Any
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["validate", str(target()), "--set", option])

    said = "".join(capsys.readouterr())
    assert ended.value.code == 4
    assert "a password does not belong in a target file" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("lock", "storage", "key", "said"),
    [
        ("etcd", "postgres", 'password = "hunter2"', "storage.password = ***: unknown key"),
        ("etcd", "redis", 'passwd = "hunter2"', "storage.passwd = ***: unknown key"),
    ],
)
def test_a_password_key_for_a_started_server_must_be_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lock: str, storage: str, key: str, said: str
) -> None:
    path = tmp_path / "t.toml"
    path.write_text(
        f'name = "t"\nexpect = "valid"\n[lock]\nkind = "{lock}"\n'
        f'[storage]\nkind = "{storage}"\nfencing = "none"\n{key}\n'
    )

    with pytest.raises(SystemExit) as ended:
        main(["validate", str(path)])

    assert ended.value.code == 4
    assert capsys.readouterr().err == (
        f"{path}:8: {said} in [storage]; Fencepost generates the password of the servers that it starts: "
        "remove the key\n"
    )


@pytest.mark.parametrize("kind", ['kind = "sqlite"', 'kind = "http"\nurl = "http://127.0.0.1:1"'])
def test_a_password_key_for_a_kind_without_one_must_be_removed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.toml"
    head = 'name = "t"\nexpect = "valid"\n[lock]\nkind = "etcd"\n[storage]\n'
    path.write_text(f'{head}password_file = "/a"\nfencing = "none"\n{kind}\n')

    with pytest.raises(ConfigurationError, match="this kind takes no password: remove the key"):
        load(path)


@pytest.mark.parametrize(
    "text",
    [
        'storage.password_env = "PGPASSWORD": unknown key',
        "storage.password_env = 'PGPASSWORD': unknown key",
        f"storage.password = {HIDDEN}: unknown key",
        f'password = "{HIDDEN}", and more',
    ],
)
def test_a_message_about_a_password_is_not_hidden(text: str) -> None:
    assert message(redacted(text)).replace(f'"{HIDDEN}"', HIDDEN) == text.replace(f'"{HIDDEN}"', HIDDEN)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"password": "{SECRET}"}}',
        f'"PGPASSWORD": {SECRET}',
        f'password = "{SECRET}": wrong',
        f"password={HIDDEN}{SECRET}",
        f"password={HIDDEN}:{SECRET}",
    ],
)
def test_a_password_is_hidden_whatever_is_around_it(text: str) -> None:
    assert SECRET not in redacted(text)


def test_an_invalid_toml_line_is_shown_without_its_password(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(f'password = "{SECRET}" x\n')

    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path / "t.toml")

    assert SECRET not in str(refused.value)


def test_a_password_is_read_from_the_environment_or_a_file(
    target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCK_PASSWORD", SECRET)
    (tmp_path / "secret").write_text("storage-secret\n")

    found = load(target('password_env = "LOCK_PASSWORD"', f'password_file = "{tmp_path}/secret"'))

    assert deployment.passwords(found) == (SECRET, "storage-secret")
    assert SECRET not in repr(found)
    assert SECRET not in found.source


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('password_env = "NO_SUCH_VARIABLE"', "NO_SUCH_VARIABLE is not set"),
        ('password_file = "/no/such/file"', "there is no such file"),
        ('password_file = "/dev/null"', "only regular files"),
    ],
)
def test_a_missing_password_is_reported_before_anything_starts(target: Any, line: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        deployment.passwords(load(target(line)))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('password_env = "A"\npassword_file = "b"', "give only one"),
        ('server = "redis"\npassword_env = "A"', "for servers that are already running"),
        ('password_env = "a b"', "the name of an environment variable"),
    ],
)
def test_passwords_that_contradict_something_are_refused(target: Any, lines: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        load(target(lines))


def test_a_client_gets_the_password_and_never_shows_it(
    target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCK_PASSWORD", SECRET)
    own = load(target('password_env = "LOCK_PASSWORD"'))

    settings = deployment.lock_settings(own, [], tmp_path, 0, 1.0, "")

    assert settings.password == SECRET
    assert SECRET not in repr(settings)


def test_a_run_folder_hides_known_passwords_and_those_of_urls(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "t", (SECRET,))

    folder.write_text("target.toml", f"# {SECRET}\n")
    folder.write_text("logs/server.log", f"login {SECRET} postgres://u:other@h\n")
    folder.write_json("environment.json", {"command": ["run", f"--set=a={SECRET}", "--password", "other"]})

    written = "".join(file.read_text() for file in folder.path.rglob("*") if file.is_file())
    assert SECRET not in written
    assert "other" not in written
    assert written.count(HIDDEN) == 5


def test_the_error_of_a_client_hides_the_password(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl", (SECRET,))

    def refuse() -> None:
        raise OSError(f"login with {SECRET} at redis://u:other@h failed")

    RecordedSession(recorder, 0, 2).call("read", "r0", refuse)

    recorded = (tmp_path / "events.jsonl").read_text()
    assert SECRET not in recorded
    assert "other" not in recorded
    assert HIDDEN in recorded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://u:p@h:1/x", "redis://u:***@h:1/x"),
        ("https://ghp_0123456789012345678901@h", "https://:***@h"),
        ("ssh://git@h", "ssh://git@h"),
        ("http://u:it's@h", "http://u:***@h"),
        ("PGPASSWORD=abc x", "PGPASSWORD=*** x"),
        (r'password="a\"b c" x', "password=*** x"),
        ('"password": "a b"', '"password": ***'),
        ('password_env = "PGPASSWORD"', 'password_env = "PGPASSWORD"'),
        ("app --password abc --x", "app --password *** --x"),
        ("granted with token 7; lock.token=counter", "granted with token 7; lock.token=counter"),
        ("lock.password: a password does not belong here", "lock.password: a password does not belong here"),
    ],
)
def test_what_looks_like_a_password_is_hidden_and_nothing_else(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert message(text) == shown


def test_a_short_password_is_hidden_as_a_word() -> None:
    assert redacted("ab: abc, ab.", ["ab"]) == "***: abc, ***."


def test_a_password_after_its_option_is_hidden_in_a_list() -> None:
    assert redacted_document({"command": ["a", "--password", "b", 7]}) == {
        "command": ["a", "--password", HIDDEN, 7]
    }


@pytest.mark.parametrize(
    "text",
    [
        "password" * 20_000,
        'password="' * 20_000,
        "--" * 100_000,
        "://" * 50_000,
        "--" + "a-" * 100_000,
        "password" + " " * 100_000,
    ],
)
def test_long_texts_are_redacted_fast(text: str) -> None:
    began = time.process_time()

    redacted(text)

    assert time.process_time() - began < 2
