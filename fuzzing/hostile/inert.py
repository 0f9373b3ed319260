"""What no output may contain, whatever a stranger wrote: one set of rules for each kind of output.

A rule gets an output with a hostile text in it, the same output with a harmless one, and the hostile
text; it yields what is broken.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from xml.etree import ElementTree as ET

from fuzzing.hostile.broken import Broken, bugs, characters, lines, workflow_commands
from fuzzing.hostile.markdown import markdown
from fuzzing.hostile.outputs import Kind, Output
from fuzzing.hostile.pages import page
from fuzzing.hostile.payloads import Payload

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_CLEARED = "\r\x1b[K"  # a line of progress
_OURS = re.compile(r"::(error|warning|notice) (file=[^:,]*,line=\d+,)?title=[^:,]*::")


def violations(hostile: Output, harmless: Output | None, payload: Payload) -> list[Broken]:
    """Return the rules that an output breaks."""
    return list(_RULES[hostile.kind](hostile.text, harmless.text if harmless else "", payload))


def _terminal(text: str, _harmless: str, payload: Payload) -> Iterator[Broken]:
    yield from bugs(text)
    yield from characters(text)
    yield from lines(text, payload)
    yield from workflow_commands(text.splitlines())


def _tty(text: str, _harmless: str, payload: Payload) -> Iterator[Broken]:
    for sequence in payload.raw:
        if sequence in text:
            yield Broken("a sequence reaches the terminal", repr(sequence))
    yield from bugs(text)
    plain = _COLOR.sub("", text).replace(_CLEARED, "")
    yield from characters(plain)
    yield from lines(plain, payload)


def _workflow(text: str, harmless: str, payload: Payload) -> Iterator[Broken]:
    printed = text.splitlines()
    ours = [line for line in printed if _OURS.match(line)]
    yield from characters(text)
    yield from lines(text, payload)
    yield from workflow_commands(line for line in printed if not _OURS.match(line))
    yield from (Broken("a command within a command", line) for line in ours if "##[" in line)
    if harmless and len(ours) > sum(bool(_OURS.match(line)) for line in harmless.splitlines()):
        yield Broken("an additional workflow command")


def _documents(text: str, harmless: str, payload: Payload) -> Iterator[Broken]:
    yield from _terminal(text, harmless, payload)
    before, now = (sum(line.startswith("{") for line in each.splitlines()) for each in (harmless, text))
    if harmless and now > before:
        yield Broken("additional documents", f"{now} instead of {before}")


_ATTRIBUTES = {
    "name", "package", "id", "hostname", "timestamp", "tests", "failures", "errors", "skipped", "time",
    "value", "classname", "message", "type",
}  # fmt: skip
_RESULTS = re.compile("failure|error|skipped")


def _junit(text: str, harmless: str, payload: Payload) -> Iterator[Broken]:
    try:
        root = ET.fromstring(text)  # noqa: S314 (our own, without entities)
    except ET.ParseError as error:
        yield Broken("no XML", str(error))
        return
    if "<!" in text.replace("<![CDATA[", "") or "<?" in text[5:]:
        yield Broken("a declaration, a comment or an instruction")
    before = _shape(ET.fromstring(harmless)) if harmless else None  # noqa: S314 (our own)
    for shape, number in _shape(root).items():
        if before is not None and number > before[shape]:
            yield Broken("additional XML", f"{number} × {shape} instead of {before[shape]}")
    for element in root.iter():
        if not element.attrib.keys() <= _ATTRIBUTES:
            yield Broken("an attribute of a stranger", str(element.attrib))
        for content in (element.text or "", element.tail or "", *element.attrib.values()):
            yield from _terminal(content, "", payload)
        if element.tag.startswith("system-") and "[[ATTACHMENT|" in (element.text or ""):
            yield Broken("an attachment that GitLab and Jenkins would publish")


def _shape(root: ET.Element) -> Counter[str]:
    """Count elements; a run that a stranger spoils is a result of another kind, but not one more."""
    names = (_RESULTS.sub("result", each.tag) for each in root.iter())
    return Counter(f"<{name}>" for name in names)


def _json(text: str, _harmless: str, _payload: Payload) -> Iterator[Broken]:
    yield from characters(text)
    json.loads(text)


def _history(text: str, harmless: str, payload: Payload) -> Iterator[Broken]:
    """A history for another tool, or the sentence that there is none."""
    yield from characters(text)
    yield from lines(text, payload)
    if harmless and text.count("\n") > harmless.count("\n"):
        yield Broken("additional lines", f"{text.count(chr(10))} instead of {harmless.count(chr(10))}")


_RULES: Mapping[Kind, Callable[[str, str, Payload], Iterator[Broken]]] = {
    Kind.TERMINAL: _terminal,
    Kind.TTY: _tty,
    Kind.WORKFLOW: _workflow,
    Kind.DOCUMENTS: _documents,
    Kind.PAGE: page,
    Kind.JUNIT: _junit,
    Kind.MARKDOWN: markdown,
    Kind.JSON: _json,
    Kind.HISTORY: _history,
}
