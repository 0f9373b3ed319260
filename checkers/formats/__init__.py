"""Histories of other tools, and ours for other tools.

    history = formats.read(Path("history.edn"))
    operations(history, "cas-register").operations

`read` detects the format from the file's content. For any file, the result is a history
or a `HistoryError` with file, line and value.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from pathlib import Path

from checkers.formats import fencepost, jepsen, porcupine
from checkers.formats.event import Foreign
from checkers.formats.operations import operations
from checkers.formats.text import Text, read_text
from checkers.text.errors import HistoryError

__all__ = ["Foreign", "Format", "detect", "operations", "parse", "read"]


class Format(enum.StrEnum):
    """The notation of a history."""

    FENCEPOST = "fencepost"  # our own JSON lines
    JEPSEN_EDN = "jepsen-edn"  # also Knossos' vectors, which have neither index nor time
    JEPSEN_JSON = "jepsen-json"
    PORCUPINE_ETCD = "porcupine-etcd"
    PORCUPINE_KV = "porcupine-kv"


NOT_A_HISTORY = "this is not a history that Fencepost knows"
ACCEPTED = (
    'accepted are Fencepost\'s own history.jsonl, whose first line is a header {"fencepost":1,…}, and, with'
    " --model, histories of Jepsen (EDN or JSON), Knossos (EDN) and Porcupine (etcd or key-value logs)"
)
"""The formats of the readers, for a message."""

_READERS: dict[Format, Callable[[Text], Foreign]] = {
    Format.FENCEPOST: fencepost.read,
    Format.JEPSEN_EDN: jepsen.read_edn,
    Format.JEPSEN_JSON: jepsen.read_json,
    Format.PORCUPINE_ETCD: porcupine.read_etcd,
    Format.PORCUPINE_KV: jepsen.read_edn,  # a map per line: {:process 0, :type :invoke, :f :put, …}
}

_OF_ROBUSTNESS_TESTS = re.compile(r"\[?\s*\{\s*\"ClientId\"\s*:")
_ROBUSTNESS_TESTS = (
    "these are operations as etcd's robustness tests save them (operations.json): the part of one client, and"
    " with revisions, leases and transactions, which no model here has; etcd's own model judges the whole"
    " report: copy its folder to tests/robustness/testdata in etcd's repository, and run"
    " make test-robustness-reports there"
)

_HEAD = 1 << 16  # characters
_SIGNS = (
    (Format.FENCEPOST, re.compile(r"\{[^\n]*\"(?:fencepost|resource)\"\s*:")),
    (Format.JEPSEN_JSON, re.compile(r"\[?\s*\{\s*(?:\"|\}|\Z)")),
    (Format.PORCUPINE_KV, re.compile(r"\{[^\n}]*:key[ ,]")),
    (Format.JEPSEN_EDN, re.compile(r"[\[({#;]")),
    (Format.PORCUPINE_ETCD, re.compile(r"[A-Z]+\s+[\w.$-]+\s+-\s|[0-9]+\s+:|:[a-z]+\s+:")),
)


def detect(text: Text) -> Format:
    """Detect the format of a file from its beginning; HistoryError if it is unknown."""
    head = text.content[:_HEAD].lstrip()
    if _OF_ROBUSTNESS_TESTS.match(head):
        raise HistoryError(text.name, 0, _ROBUSTNESS_TESTS)
    for known, sign in _SIGNS:
        if sign.match(head):
            return known
    raise HistoryError(text.name, 1, f"{NOT_A_HISTORY}: it begins with {head[:80]!r}; {ACCEPTED}")


def read(path: Path) -> Foreign:
    """Read a history in any of the formats; HistoryError if it is in none, or cannot be a history."""
    return parse(read_text(path))


def parse(text: Text) -> Foreign:
    """Read a history from a text; HistoryError as for `read`."""
    return _READERS[detect(text)](text)
