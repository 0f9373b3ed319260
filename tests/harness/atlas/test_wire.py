"""Requests and answers of S3, also from broken servers, and the removal of everything below a prefix."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat

import pytest

from harness.atlas.removal import Left, remove
from harness.atlas.wire import MOST, S3Answer, account, server_at
from harness.core.errors import ConfigurationError
from tests.support.http_servers import listening
from tests.support.s3_server import BUCKET, Store, s3_server
from tests.support.waiting import SOON

OK = b"HTTP/1.1 200 OK\r\n"
TIMEOUT = 0.5  # s


def asked(*pieces: bytes, timeout: float = SOON) -> S3Answer:
    """Ask a server that answers with these bytes, and then closes the connection."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)

    return answered_by(serve, timeout)


def answered_by(serve: Callable[[socket.socket], None], timeout: float = TIMEOUT) -> S3Answer:
    with listening(serve) as at:
        server = server_at(f"http://{at}", bucket="b", region="us-east-1", timeout=timeout)
        return server.ask(server.request("PUT", "key", b"body"))


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (OK + b'ETag: "5d41"\r\nContent-Length: 2\r\n\r\nhi', S3Answer(200, '"5d41"', b"hi")),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", S3Answer(200, "", b"hi")),
        (OK + b"\r\nuntil the end", S3Answer(200, "", b"until the end")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n", S3Answer(200)),
        (b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n", S3Answer(412)),
        (b"HTTP/1.1 204 No Content\r\n\r\n", S3Answer(204)),
    ],
)
def test_an_answer_is_read(said: bytes, answer: S3Answer) -> None:
    assert asked(said) == answer


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1",
        b"HTTP/1.1 abc\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\xff" * 1000,
        OK + b"Content-Length: 10\r\n\r\nhi",
        OK + b"Content-Length: 999999999999\r\n\r\nhi",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffff\r\nhi",
        OK + b"Transfer-Encoding: chunked\r\n\r\nnot a size\r\nhi",
        OK + b"X: y\r\n" * 1000 + b"\r\n",
        OK + b"X: " + b"y" * 100_000,
        OK + b"\r\n" + b"x" * (MOST + 1),
    ],
)
def test_an_answer_that_is_none_or_not_whole_is_lost(said: bytes) -> None:
    assert asked(said) == S3Answer()


@pytest.mark.parametrize("etag", [b'"a\r\n b"', b"\xc3\xa9", b"x" * 300, b""])
def test_an_etag_that_no_header_can_carry_is_none(etag: bytes) -> None:
    assert asked(OK + b"ETag: " + etag + b"\r\nContent-Length: 0\r\n\r\n") == S3Answer(200)


@pytest.mark.parametrize(
    "endless", [b"x" * 65536, b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"\r\n", b"X: y\r\n"]
)
def test_an_endless_answer_is_lost(endless: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            for piece in repeat(endless):
                connection.sendall(piece)

    assert answered_by(serve) == S3Answer()


@pytest.mark.parametrize("drop", [b"", b"x"])
def test_a_silent_or_dripping_server_has_a_deadline(drop: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(OK + b"\r\n")
            for piece in repeat(drop):
                connection.sendall(piece)
                time.sleep(0.01)  # the drip

    began = time.monotonic()

    assert answered_by(serve) == S3Answer()
    assert time.monotonic() - began < TIMEOUT + SOON


def test_no_server_is_no_answer() -> None:
    with listening(lambda _connection: None) as at:
        pass
    server = server_at(f"http://{at}", bucket="b", region="us-east-1")

    assert server.ask(server.request("GET")) == S3Answer()


def test_a_request_is_signed_for_its_region_and_host() -> None:
    server = server_at("http://[::1]:9000", bucket="b", region="eu-west-3", user="id", password="secret")

    head = server.request("PUT", "a/b c", b"body", {"If-None-Match": "*"}).head.decode()

    assert head.startswith("PUT /b/a/b%20c HTTP/1.1\r\nHost: [::1]:9000\r\n")
    assert "Credential=id/" in head
    assert "/eu-west-3/s3/aws4_request" in head
    assert "if-none-match" in head.partition("SignedHeaders=")[2].partition(",")[0]
    assert "secret" not in head + repr(server)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:9000",
        "ftp://a:1",
        "http://",
        "http://a:port",
        "http://a:1/path",
        "http://a?b",
        "http://[a",
        "http://a..b",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="no address of a server"):
        server_at(url, bucket="b", region="us-east-1")


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refused:
        server_at("http://id:secret@a:1", bucket="b", region="us-east-1")

    assert "secret@" not in str(refused.value)


def test_the_port_of_the_scheme_is_not_named() -> None:
    names = [server_at(url, bucket="b", region="r").name for url in ("https://a", "http://a", "https://a:80")]

    assert names == ["a", "a", "a:80"]


def test_the_secret_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_SECRET", "hidden")

    assert account("id", "S3_SECRET") == {"user": "id", "password": "hidden"}
    assert account(None, None) == {}


@pytest.mark.parametrize(("user", "variable"), [("id", None), (None, "PATH"), ("id", "NOT_SET_ANYWHERE")])
def test_half_an_account_is_refused(user: str | None, variable: str | None) -> None:
    with pytest.raises(ConfigurationError):
        account(user, variable)


PREFIX = "fencepost-atlas-1/"
KEYS = [f"{PREFIX}create-{number}" for number in range(50)]


@pytest.fixture
def pool() -> Iterator[Executor]:
    with ThreadPoolExecutor(4) as workers:
        yield workers


def removed(store: Store, pool: Executor) -> Left:
    server = server_at(store.url, bucket=BUCKET, region="us-east-1")
    return remove(server, PREFIX, KEYS, len(KEYS), pool)


@pytest.mark.parametrize(("lists_versions", "left"), [(True, Left.NOTHING), (False, Left.UNLISTED)])
def test_everything_below_the_prefix_is_removed(lists_versions: bool, left: Left, pool: Executor) -> None:
    with s3_server(lists_versions=lists_versions) as store:
        store.objects = dict.fromkeys([*KEYS, "another"], b"")

        assert removed(store, pool) is left
        assert list(store.objects) == ["another"]


@pytest.mark.parametrize("listing", ["ListBucketVersionsResult", "ListBucketResult"])
def test_listings_have_other_names_on_other_servers(listing: str, pool: Executor) -> None:
    with s3_server() as store:
        store.listing = listing
        store.objects = dict.fromkeys([*KEYS, "another"], b"")

        assert removed(store, pool) is Left.NOTHING
        assert list(store.objects) == ["another"]


def test_a_listing_of_objects_is_none_of_versions(pool: Executor) -> None:
    with s3_server() as store:
        store.listing, store.more = "ListBucketResult", "<Contents/>"
        store.objects = dict.fromkeys(KEYS, b"")

        assert removed(store, pool) is Left.UNLISTED


def test_an_endless_listing_ends(pool: Executor) -> None:
    with s3_server("lists more") as store:
        store.objects = dict.fromkeys(KEYS, b"")

        assert removed(store, pool) is Left.SOMETHING
        assert len(store.asked) < 5 * len(KEYS)


def test_other_objects_in_a_listing_are_not_deleted(pool: Executor) -> None:
    with s3_server("lists everything") as store:
        store.objects = dict.fromkeys([*KEYS, "another"], b"")

        assert removed(store, pool) is Left.NOTHING
        assert list(store.objects) == ["another"]


def test_what_cannot_be_removed_is_left(pool: Executor) -> None:
    with s3_server("refuses") as store:
        store.objects = dict.fromkeys(KEYS, b"")

        assert removed(store, pool) is Left.SOMETHING


def test_from_a_server_that_has_gone_nothing_is_removed(pool: Executor) -> None:
    with s3_server() as store:
        pass

    assert removed(store, pool) is Left.SOMETHING
