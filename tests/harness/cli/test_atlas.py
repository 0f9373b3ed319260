"""`fencepost atlas`, on servers that are atomic, and on servers that are wrong in one way."""

import json
import os
import re
import signal
import socket
import subprocess
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from harness.atlas.wire import server_at
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.certificates import certified
from tests.support.command import FENCEPOST, fencepost
from tests.support.http_servers import listening
from tests.support.repository import ROOT
from tests.support.s3_server import BUCKET, s3_server
from tests.support.systems import endpoints, started
from tests.support.waiting import PATIENCE, wait_for

FEW = ("--keys=2", "--clients=3")


def drawn(folder: Path, url: str, *options: str, bucket: str = BUCKET) -> Any:
    """Draw the atlas of a server; returns the process that ended."""
    return fencepost(folder, "atlas", url, f"--bucket={bucket}", *FEW, *options)


def cells_of(done: Any) -> dict[tuple[str, str | None], str]:
    cells = json.loads(done.stdout)["cells"]
    return {(cell["operation"], cell["mode"]): cell["verdict"] for cell in cells}


def every_cell(verdict: str) -> dict[tuple[str, str], str]:
    return {
        (operation, mode): verdict
        for operation in ("create", "replace", "delete")
        for mode in ("burst", "held", "slow")
    }


def test_an_atomic_server_is_atomic_and_left_empty(tmp_path: Path) -> None:
    with s3_server() as store:
        store.objects["of-the-user"] = b""
        done = drawn(tmp_path, store.url, "--format=json")

    assert done.returncode == 0, done.stderr
    assert cells_of(done) == every_cell("atomic")
    assert list(store.objects) == ["of-the-user"]
    assert not (tmp_path / "atlas").exists()


def test_the_requests_and_bytes_are_announced_exactly(tmp_path: Path) -> None:
    with s3_server() as store:
        done = drawn(tmp_path, store.url)

    listing = next(number for number, asked in enumerate(store.asked) if "versions" in asked[1])
    said = re.search(r"up to ([\d,]+) requests with ([\d,]+) bytes", done.stdout)
    assert said is not None
    assert [int(number.replace(",", "")) for number in said.groups()] == [
        listing,
        sum(size for _, _, size in store.asked[:listing]),
    ]


@pytest.mark.slow
def test_a_race_with_two_winners_is_a_history_that_is_judged(tmp_path: Path) -> None:
    with s3_server("races") as store:
        done = drawn(tmp_path, store.url, "--format=json")

    assert done.returncode == 1, done.stderr
    assert cells_of(done) == every_cell("not atomic")
    assert store.objects == {}
    cells = json.loads(done.stdout)["cells"]
    assert {(cell["operation"], *cell["findings"]) for cell in cells} == {
        ("create", "duplicate-token"),
        ("replace", "duplicate-token"),
        ("delete", "stale-write"),
    }
    judged = fencepost(tmp_path, "recheck", cells[0]["history"], "--format=json")
    assert (judged.returncode, json.loads(judged.stdout)["verdict"]) == (1, "invalid")


def test_the_terminal_says_what_it_means_and_how_to_judge_it(tmp_path: Path) -> None:
    with s3_server("races") as store:
        done = drawn(tmp_path, store.url, "--only=create")

    assert "A lock that is taken this way can have several holders." in done.stdout
    named = re.search(r"fencepost recheck (atlas/\S+/create-held/history.jsonl)", done.stdout)
    assert named is not None
    assert (tmp_path / named[1]).is_file()


def test_an_ignored_condition_is_not_raced(tmp_path: Path) -> None:
    with s3_server("ignores") as store:
        done = drawn(tmp_path, store.url, "--format=json")

    assert done.returncode == 1, done.stderr
    assert cells_of(done) == {(each, None): "ignored" for each in ("create", "replace", "delete")}
    assert store.objects == {}


def test_the_etag_of_a_deleted_object_must_be_refused(tmp_path: Path) -> None:
    with s3_server("ignores on absence") as store:
        done = drawn(tmp_path, store.url, "--only=delete")

    assert done.returncode == 1, done.stderr
    assert "ignored: a PUT with the ETag of a deleted object was accepted" in done.stdout
    assert store.objects == {}


@pytest.mark.parametrize("wrong", ["closes", "closes half", "fails"])
def test_lost_answers_are_unknown_not_refusals(wrong: str, tmp_path: Path) -> None:
    with s3_server(wrong) as store:
        done = drawn(tmp_path, store.url, "--format=json", "--only=create")

    assert done.returncode == 2, done.stderr
    assert set(cells_of(done).values()) == {"unknown"}
    assert store.objects == {}


def test_a_server_that_stops_answering_is_left_alone(tmp_path: Path) -> None:
    with s3_server("closes") as store:
        done = drawn(tmp_path, store.url, "--format=json", "--keys=50")

    assert [cell["keys"] for cell in json.loads(done.stdout)["cells"]] == [3]


def test_what_cannot_be_removed_is_said(tmp_path: Path) -> None:
    with s3_server("keeps", lists_versions=False) as store:
        done = drawn(tmp_path, store.url, "--only=create")

    assert done.returncode == 3, done.stderr
    assert re.search(r"not everything below fencepost-atlas-\w+/ .* could be removed", done.stdout)


def test_a_server_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    with listening(lambda _connection: None) as at:
        pass
    done = drawn(tmp_path, f"http://{at}")

    assert done.returncode == 3
    assert f"{at} cannot be reached" in done.stderr


def test_a_server_that_refuses_the_account_is_wrong_use(tmp_path: Path) -> None:
    with s3_server("refuses") as store:
        done = drawn(tmp_path, store.url)

    assert done.returncode == 4
    assert "answered 403 InvalidAccessKeyId; check --bucket" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("atlas", "http://127.0.0.1:9"),
        ("atlas", "127.0.0.1:9", "--bucket=b"),
        ("atlas", "http://127.0.0.1:9", "--bucket=b", "--clients=1"),
        ("atlas", "http://127.0.0.1:9", "--bucket=b", "--only=copy"),
        ("atlas", "http://127.0.0.1:9", "--bucket=b", "--user=id", "--password-env=NOT_SET_ANYWHERE"),
    ],
)
def test_wrong_use_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    assert fencepost(tmp_path, *words).returncode == 4


@pytest.mark.parametrize("said", [b"x" * 65536, b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 65536, b"\x1b[2J\n" * 9])
def test_a_hostile_server_ends_in_a_sentence(said: bytes, tmp_path: Path) -> None:
    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            for piece in repeat(said):
                connection.sendall(piece)

    with listening(serve) as at:
        done = drawn(tmp_path, f"http://{at}", "--timeout=1s")

    assert done.returncode == 3, done.stderr
    assert f"{at} gave no complete answer to a PUT within 1 s: is it a server of S3?" in done.stderr
    assert "Traceback" not in done.stderr


def test_proxies_of_the_environment_are_not_asked(tmp_path: Path) -> None:
    with s3_server() as store:
        proxies = {"http_proxy": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
        words = ("atlas", store.url, f"--bucket={BUCKET}", *FEW, "--only=create")
        done = fencepost(tmp_path, *words, **proxies)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("trusted", "code"), [(True, 0), (False, 3)])
def test_https_verifies_the_certificate(trusted: bool, code: int, tmp_path: Path) -> None:
    certificates = certified(tmp_path)
    trust = {"SSL_CERT_FILE": str(certificates.authority)} if trusted else {}
    with s3_server(certificates=certificates) as store:
        url = store.url.replace("http:", "https:")
        done = fencepost(tmp_path, "atlas", url, f"--bucket={BUCKET}", *FEW, "--only=create", **trust)

    assert done.returncode == code, done.stderr
    assert ("certificate verify failed" in done.stderr) is not trusted


@pytest.mark.slow
def test_ctrl_c_removes_what_was_written(tmp_path: Path) -> None:
    with s3_server() as store:
        words = [*FENCEPOST, "atlas", store.url, f"--bucket={BUCKET}", "--keys=10000"]
        with subprocess.Popen(
            words, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
        ) as running:
            assert wait_for(lambda: len(store.objects) > 20)
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=PATIENCE)

    assert running.returncode == 130
    assert "nothing is left" in said
    assert store.objects == {}


@pytest.mark.slow
def test_gofakes3_is_atomic_and_ignores_a_deletes_etag(docker_engine: Engine, tmp_path: Path) -> None:
    with started(docker_engine, tmp_path, ServerSpec(name="s3", system="s3")) as cluster:
        url = f"http://{endpoints(cluster, 's3')[0]}"
        server = server_at(url, bucket="atlas", region="us-east-1")
        assert server.ask(server.request("PUT")).status == 200
        done = drawn(tmp_path, url, "--format=json", bucket="atlas")
        left = server.ask(server.request("GET", query={"versions": ""}))

    cells = cells_of(done)
    assert cells.pop(("delete", None)) == "ignored"
    assert cells == {cell: "atomic" for cell in every_cell("atomic") if cell[0] != "delete"}
    assert done.returncode == 1
    assert left.status == 200
    assert b"<Key>" not in left.body
