"""Passwords: a target names where one is and never contains it, and none is ever shown."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from checkers.text.printable import message
from checkers.text.redaction import HIDDEN, redacted, redacted_document
from harness.clients.recorder import RecordedSession, Recorder
from harness.core.errors import ConfigurationError
from harness.files.run_folder import RunFolder
from harness.run import deployment
from harness.spec.reading import load_text
from tests.support.target_files import error_in, read, target_text

SECRET = "hunter2-correct-horse"  # noqa: S105 - for nothing


def target(lock: str = "", storage: str = 'fencing = "yes"', more: str = "") -> str:
    """A target whose lock and storage are classes."""
    return target_text(more, lock=f'kind = "mine:Lock"\n{lock}', storage=f'kind = "mine:Storage"\n{storage}')


def shown_of(text: str, *overrides: str) -> str:
    """The error in a target with a password, which it does not show."""
    with pytest.raises(ConfigurationError) as refused:
        load_text(text, "t.toml", overrides)
    assert SECRET not in str(refused.value)
    return str(refused.value)


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
def test_a_password_in_a_target_file_is_refused_without_showing_it(line: str) -> None:
    of_storage = line.replace("token", "fencing")
    storage = of_storage if "fencing" in of_storage else f'fencing = "yes"\n{of_storage}'

    assert "password_env" in shown_of(target(lock=line))
    assert "password_env" in shown_of(target(storage=storage))


@pytest.mark.parametrize(
    "command",
    [
        ["app", f"--password={SECRET}"],
        ["app", "--db-password", SECRET],
        ["app", f"postgres://u:{SECRET}@h/db"],
        ["env", f"PGPASSWORD={SECRET}", "app"],
    ],
)
def test_a_password_in_a_command_is_refused_without_showing_it(command: list[str]) -> None:
    more = f"[client]\ncommand = {json.dumps(command)}"

    assert "set an environment variable" in shown_of(target(more=more))


URL = f'kind = "http"\nurl = "http://user:{SECRET}@127.0.0.1:1"'


@pytest.mark.parametrize("sections", [{"lock": URL}, {"storage": f'{URL}\nfencing = "none"'}])
def test_a_password_in_a_url_is_refused_without_showing_it(sections: dict[str, str]) -> None:
    assert "a password does not belong" in shown_of(target_text(**sections))


@pytest.mark.parametrize(
    "option",
    [
        f"lock.password={SECRET}",
        f'lock.token="redis://u:{SECRET}@h"',
        f'client.command=["a", "--password", "{SECRET}"]',
    ],
)
def test_a_password_in_a_setting_is_refused_without_showing_it(option: str) -> None:
    assert "a password does not belong in a target file" in shown_of(target(), option)


@pytest.mark.parametrize(("kind", "key"), [("postgres", "password"), ("redis", "passwd")])
def test_a_password_key_for_a_started_server_must_be_removed(kind: str, key: str) -> None:
    storage = f'kind = "{kind}"\nfencing = "none"\n{key} = "{SECRET}"'

    assert shown_of(target_text(storage=storage)) == (
        f"t.toml:8: storage.{key} = ***: unknown key in [storage]; Fencepost generates the password"
        " of the servers that it starts: remove the key"
    )


@pytest.mark.parametrize("kind", ['kind = "sqlite"', 'kind = "http"\nurl = "http://127.0.0.1:1"'])
def test_a_password_key_for_a_kind_without_one_must_be_removed(kind: str) -> None:
    storage = f'password_file = "/a"\nfencing = "none"\n{kind}'

    assert "this kind takes no password: remove the key" in error_in(target_text(storage=storage))


def test_an_invalid_toml_line_is_shown_without_its_password() -> None:
    assert shown_of(f'password = "{SECRET}" x\n')


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


def test_a_password_is_read_from_environment_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCK_PASSWORD", SECRET)
    (tmp_path / "secret").write_text("storage-secret\n")

    found = read(
        target('password_env = "LOCK_PASSWORD"', f'fencing = "yes"\npassword_file = "{tmp_path}/secret"')
    )

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
def test_a_missing_password_is_reported_before_anything_starts(line: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        deployment.passwords(read(target(line)))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('password_env = "A"\npassword_file = "b"', "give only one"),
        ('server = "redis"\npassword_env = "A"', "for servers that are already running"),
        ('password_env = "a b"', "the name of an environment variable"),
    ],
)
def test_passwords_that_contradict_something_are_refused(lines: Any, why: str) -> None:
    assert why in error_in(target(lines))


def test_a_client_gets_the_password_and_hides_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCK_PASSWORD", SECRET)
    own = read(target('password_env = "LOCK_PASSWORD"'))

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
