"""Histories for tests of formats: samples in files, literal events, random ones of one register."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from checkers import formats
from checkers.formats import Foreign
from checkers.formats.event import Call, Event
from checkers.formats.pairing import pair
from checkers.history.operation import NO_VALUE
from checkers.models.judge import MODELS
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity
from tests.support.repository import HISTORIES

FOLDER = HISTORIES / "foreign"
FACTS = ".facts.json"  # the ending of the golden file of a sample
CASES = sorted(path for path in FOLDER.iterdir() if not path.name.endswith((FACTS, "words.txt")))

WRITE = "{:process 0, :type :invoke, :f :write, :value 1}"
WROTE = "{:process 0, :type :ok, :f :write, :value 1}"

VALUES = (None, 0, 1, 2)

WriteFile = Callable[[Any], Path]
"""The fixture `file`: it writes a file with that content."""


def model_of(sample: Path) -> str:
    """The model that a sample's name begins with."""
    return sample.name.split(".")[0]


def written(folder: Path, content: str | bytes) -> Path:
    """A file with that content."""
    path = folder / "history"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@st.composite
def events(draw: Any, cas: bool = True) -> list[Event]:
    """Events of a few processes, each doing one thing at a time; answers are random, correct or wrong."""
    free, made = [0, 1, 2], []
    busy: dict[Any, Any] = {}
    fresh = 3
    for _ in range(draw(st.integers(0, 12))):
        if busy and (not free or draw(st.booleans())):
            process = draw(st.sampled_from(sorted(busy)))
            f, asked = busy.pop(process)
            kind = draw(st.sampled_from(["ok", "ok", "ok", "fail", "info"]))
            value = draw(st.sampled_from(VALUES)) if f == "read" and kind == "ok" else asked
            refused = kind == "fail" and f == "cas" and draw(st.booleans())
            made.append((process, kind, f, value, refused))
            if kind == "info":
                process, fresh = fresh, fresh + 1
            free.append(process)
        elif free:
            process = free.pop(draw(st.integers(0, len(free) - 1)))
            f = draw(st.sampled_from(["read", "write", *(["cas"] if cas else [])]))
            asked = {
                "read": st.none(),
                "write": st.sampled_from(VALUES[1:]),
                "cas": st.tuples(st.sampled_from(VALUES[1:]), st.sampled_from(VALUES[1:])),
            }[f]
            busy[process] = (f, draw(asked))
            made.append((process, "invoke", *busy[process], False))
    return [
        Event(line=line, process=process, type=kind, f=f, value=value, refused=refused, time=10 * line)
        for line, (process, kind, f, value, refused) in enumerate(made, start=1)
    ]


def calls(made: list[Event]) -> tuple[Call, ...]:
    return pair(made, "drawn").calls


def meaning(call: Call) -> tuple[object, ...]:
    """What two calls must share to be the same, wherever they are written."""
    answered = call.answered if call.f == "read" else NO_VALUE
    return (call.process, call.f, call.asked, answered, call.outcome, call.refused, call.seen, call.key)


def precedence(history: tuple[Call, ...]) -> list[list[bool]]:
    return [[a.returned is not None and a.returned < b.called for b in history] for a in history]


def verdict_of(history: Foreign, model: str = "cas-register") -> Validity:
    return search(formats.operations(history, model).operations, MODELS[model]()).validity
