"""Remove what the races wrote: all versions of it, and nothing else in the bucket."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from concurrent.futures import Executor
from xml.etree import ElementTree as ET

from checkers.history.records import Outcome
from harness.atlas.race import GONE, outcome_of
from harness.atlas.wire import S3Server

_PAGE = 500  # versions; their names stay far below the limit of an answer
_AT_ONCE = 16
_LISTINGS = {"ListVersionsResult", "ListBucketVersionsResult", "ListBucketResult"}
"""What S3 calls a listing of versions, and what gofakes3 and s3mock call it."""
_Version = tuple[str, str]
"""A key and the id of a version; "" means the newest."""


class Left(enum.Enum):
    """What is left below the prefix."""

    NOTHING = enum.auto()
    UNLISTED = enum.auto()  # no object; older versions, if the bucket keeps them
    SOMETHING = enum.auto()


def remove(server: S3Server, prefix: str, written: Sequence[str], most: int, pool: Executor) -> Left:
    """Remove every version below a prefix, of which there are at most `most`.

    From a server that lists no versions, the keys in `written` are deleted. A server without versions
    may ignore their ids, or refuse them: then the objects are deleted without.
    """
    found = _listed(server, prefix)
    if found is None:
        return Left.UNLISTED if _delete(server, [(key, "") for key in written], pool) else Left.SOMETHING
    for by_id in (True, False):
        before: list[_Version] = []
        deleted = 0
        while found and found != before and deleted < most:
            before = found
            deleted += len(found)
            _delete(server, [(key, version if by_id else "") for key, version in found], pool)
            found = _listed(server, prefix)
    return Left.NOTHING if found == [] else Left.SOMETHING


def _delete(server: S3Server, versions: Sequence[_Version], pool: Executor) -> bool:
    """Delete some versions, until no answer arrives any more; return whether all are gone."""

    def status_of(version: _Version) -> int | None:
        key, identity = version
        query = {"versionId": identity} if identity else None
        return server.ask(server.request("DELETE", key, query=query)).status

    are_gone = True
    for begin in range(0, len(versions), _AT_ONCE):
        statuses = list(pool.map(status_of, versions[begin : begin + _AT_ONCE]))
        are_gone &= all(each == GONE or outcome_of(each) is Outcome.OK for each in statuses)
        if not any(statuses):
            return False
    return are_gone


def _listed(server: S3Server, prefix: str) -> list[_Version] | None:
    """List the first versions and delete markers below a prefix; None if the server does not."""
    query = {"versions": "", "prefix": prefix, "max-keys": str(_PAGE)}
    answer = server.ask(server.request("GET", query=query))
    if outcome_of(answer.status) is not Outcome.OK:
        return None
    try:
        listing = ET.fromstring(answer.body)  # noqa: S314 - expat limits the expansion, we the size
    except ET.ParseError:
        return None
    if _name(listing) not in _LISTINGS or any(_name(each) == "Contents" for each in listing):
        return None  # such as a listing of objects, by a server that overlooks "versions"
    found = [
        {_name(part): part.text or "" for part in each}
        for each in listing
        if _name(each) in {"Version", "DeleteMarker"}
    ]
    versions = [(each.get("Key", ""), each.get("VersionId", "")) for each in found]
    return [(key, version) for key, version in versions if key.startswith(prefix)]


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
