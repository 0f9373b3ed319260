"""S3 as a fenced register: one object per resource, created by the first write.

none          PUT: the token is stored, but not compared
if-match      GET, compare the mark in the object with the token, PUT if the ETag is still the one read
epoch-object  the mark is in another object: compare and raise it there, then PUT (wrong: a client that
              stops in between continues with a comparison that is out of date)

An object holds the mark, the token of the last write, and its value. A fence puts the same
value with a higher mark. A 412 says only that another write came in between: this one was not
applied, and the client reads again to know whether the new mark refuses its token. Nothing
is sent twice, so a 412 never answers the repetition of a write that took effect.

The commit order is the order of the object's versions. S3 lists the newest first, and
gofakes3 the oldest; which is the latest is in the answer. Times have a resolution of a
second, and order nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, Unknown, as_stored
from workloads.commit_room import CommitRoom
from workloads.s3_bucket import Bucket
from workloads.settings import StorageSettings, named
from workloads.stored_object import LostRaceError, StoredObject

_NOTHING: dict[str, Any] = {"mark": UNWRITTEN, "token": 0, "value": None}


class S3Storage:
    """One client of the register."""

    def __init__(self, settings: StorageSettings, bucket: Bucket) -> None:
        self._bucket = bucket
        self._names = settings.names
        self._fencing = settings.fencing
        self._policy = settings.policy

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        key, deadline, mark = _key(resource, self._names), self._bucket.deadline(), as_stored(token)
        written = {"mark": mark, "token": token, "value": value}
        if self._fencing == "if-match":
            self._replace(key, mark, self._policy, lambda _old: written, deadline, sent)
        elif self._fencing == "epoch-object":
            epoch = _epoch_key(resource, self._names)
            self._replace(epoch, mark, self._policy, lambda _old: {"mark": mark}, deadline, sent)
            self._bucket.put(key, written, deadline)
        else:
            self._bucket.put(key, written, deadline, sent)

    def _replace(
        self,
        key: str,
        token: int,
        policy: str,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        deadline: float,
        sent: Callable[[], None] | None = None,
    ) -> None:
        """Change an object whose mark does not refuse the token; Stale if it does.

        A lost race had no effect, so it is tried again until the deadline.
        """
        while True:
            found = self._read(key, deadline)
            content = found.content if found else _NOTHING
            if token < content["mark"] or (token == content["mark"] and policy == "strict"):
                raise Stale
            try:
                self._bucket.replace(key, found, change(content), deadline, sent)
            except LostRaceError:
                continue
            return

    def _read(self, key: str, deadline: float) -> StoredObject | None:
        """Read an object that is to be replaced; every error is NotApplied, since nothing was put."""
        try:
            return self._bucket.get(key, deadline)
        except Unknown as error:
            raise NotApplied(str(error)) from error

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        found = self._bucket.get(_key(resource, self._names), self._bucket.deadline())
        content = found.content if found else _NOTHING
        return content["value"], content["token"]

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""

        def fenced(old: dict[str, Any]) -> dict[str, Any]:
            return {**old, "mark": token, "fence": True}

        key, deadline = _key(resource, self._names), self._bucket.deadline()
        self._replace(key, token, "inclusive", fenced, deadline)

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._bucket.close()

    def sharing(self, settings: StorageSettings) -> S3Storage:
        """Make a client with other settings on the same connection."""
        return S3Storage(settings, self._bucket)


def connect(settings: StorageSettings) -> S3Storage:
    """Make a client."""
    return S3Storage(settings, Bucket(settings))


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:  # noqa: ARG001 - writes create objects
    """Make sure that the bucket keeps versions."""
    with closing(Bucket(settings)) as bucket:
        bucket.keep_versions()


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in commit order, resource by resource."""
    prefix, seq = _key("", settings.names), 0
    with closing(Bucket(settings)) as bucket:
        if not bucket.keeps_versions():
            raise Unknown("the bucket has kept no versions: was its server restarted, and forgot them?")
        for key, versions in _in_order(bucket, prefix, CommitRoom(settings.recorded)):
            for version in versions:
                seq += 1
                found = bucket.get(key, bucket.deadline(), version)
                if found is None:
                    raise Unknown(f"version {version} of {key} is gone")
                yield _commit(seq, key.removeprefix(prefix), found.content)


def remove(settings: StorageSettings) -> int:
    """Delete all versions of the objects of a run; return how many there were."""
    with closing(Bucket(settings)) as bucket:
        return sum(bucket.remove(of("", settings.names)) for of in (_key, _epoch_key))


def _in_order(bucket: Bucket, prefix: str, room: CommitRoom) -> Iterator[tuple[str, list[str]]]:
    """Yield each key with its versions, the oldest first; Unknown if their order is not certain."""
    listed: dict[str, dict[str, bool]] = {}  # by key: is that version the latest?
    for page in bucket.versions(prefix):
        before = sum(map(len, listed.values()))
        for each in page:
            room.take(len(each["Key"]) + len(each["VersionId"]))
            listed.setdefault(each["Key"], {})[each["VersionId"]] = each["IsLatest"]
        if page and sum(map(len, listed.values())) == before:
            raise Unknown("the pages of the list of versions repeat: the server does not say how to go on")
    for key, versions in listed.items():
        latest = list(versions.values())
        if latest.count(True) != 1 or not (latest[0] or latest[-1]):
            raise Unknown(f"the versions of {key} are in no order: the latest is neither first nor last")
        yield key, list(versions)[::-1] if latest[0] else list(versions)


def _commit(seq: int, resource: str, content: dict[str, Any]) -> Commit:
    if content.get("fence"):
        return Commit(seq=seq, resource=resource, token=content["mark"], fence=True)
    return Commit(seq=seq, resource=resource, token=content["token"], value=content["value"])


def _key(resource: str, names: str) -> str:
    return f"fencepost-register/{named(names, resource)}"


def _epoch_key(resource: str, names: str) -> str:
    return f"fencepost-epoch/{named(names, resource)}"
