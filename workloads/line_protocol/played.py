"""One request played against a program, and the verdict on its answer."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from workloads.client import NotApplied, Stale, Unknown
from workloads.line_protocol.messages import GrantedEvent, convert_fields
from workloads.line_protocol.outcomes import Unsupported
from workloads.line_protocol.pipe import NoAnswer
from workloads.line_protocol.program_client import ProgramClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one check found."""

    request: str  # that it is about
    fits: bool
    found: str  # what the program did; or what does not fit, and what does


class Hung(Exception):  # noqa: N818 - the program's state, not a fault of ours
    """A program gave no answer in time."""

    def __init__(self, request: str, why: str) -> None:
        super().__init__(request, why)
        self.request = request
        self.why = why


@dataclass(frozen=True, slots=True)
class PlayedAnswer:
    """How a program answered: the word of the protocol, the fields of an ok, or else the reason."""

    word: str
    fields: Mapping[str, Any]
    reason: str = ""
    events: AbstractSet[str] = frozenset()  # that came before an ok

    @property
    def shown(self) -> str:
        """The word, and the reason if there is one."""
        return f"{self.word} ({self.reason})" if self.reason else self.word


def asked(program: ProgramClient, op: str, *, within: float | None = None, **fields: Any) -> PlayedAnswer:
    """Send a request and return how it was answered; Hung if it was not."""
    events: set[str] = set()

    def on_event(event: str, carried: Mapping[str, Any]) -> None:
        events.add(event)
        if event == "granted" and convert_fields(GrantedEvent, carried).wait:
            program.resume()

    try:
        answer = program.request(op, within=within, event=on_event, **fields)
        return PlayedAnswer("ok", answer, events=events)
    except Stale:
        return PlayedAnswer("stale", {})
    except Unsupported:
        return PlayedAnswer("unsupported", {})
    except NotApplied as error:
        return PlayedAnswer("failed", {}, str(error))
    except NoAnswer as error:
        raise Hung(op, str(error)) from error
    except Unknown as error:
        return PlayedAnswer("unknown", {}, str(error))


def one_of(what: str, answer: PlayedAnswer, *words: str) -> Check:
    """Does an answer have one of these words?"""
    fits = answer.word in words
    found = answer.shown if fits else f"{answer.shown}; expected {' or '.join(words)}"
    return Check(request=what, fits=fits, found=found)
