"""What no page may contain."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from urllib.parse import urlsplit

from fuzzing.hostile.broken import Broken, characters, lines
from fuzzing.hostile.payloads import MARK, Payload


class _Elements(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.commands: list[str] = []
        self._open: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        self._open.append((tag, attributes))
        if tag == "code" and self._within("shell"):
            self.commands.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag, attributes = self._open[-1] if self._open else ("", {})
        if tag in {"script", "style"}:
            self.scripts.append((attributes, data))
            return
        self.texts.append(data)
        if tag == "code" and self._within("shell"):
            self.commands[-1] += data

    def handle_comment(self, data: str) -> None:
        self.tags.append(("!--", {"data": data}))

    def _within(self, name: str) -> bool:
        return any(name in attributes.get("class", "").split() for _, attributes in self._open)


def elements(page: str) -> _Elements:
    """Parse a page."""
    parser = _Elements()
    parser.feed(page)
    parser.close()
    return parser


@cache
def _known() -> tuple[frozenset[str], frozenset[str]]:
    """The elements and attributes in the templates; a page has no others."""
    templates = [
        file.read_text(encoding="utf-8")
        for package in ("harness.report", "harness.campaign")
        for file in (importlib.resources.files(package) / "assets").iterdir()
        if file.name.endswith(".j2")
    ]
    tags = {tag.lower() for text in templates for tag in re.findall(r"<([A-Za-z][\w-]*)", text)}
    names = {
        name.lower() for text in templates for name in re.findall(r"[\s\"]([A-Za-z][\w-]*)(?:=|\s|>)", text)
    }
    return frozenset(tags), frozenset(names)


def page(text: str, _harmless: str, payload: Payload) -> Iterator[Broken]:
    """No element, attribute, link or script that is not in the templates."""
    found = elements(text)
    tags, names = _known()
    yield from _policy(found)
    for tag, attributes in found.tags:
        if tag not in tags:
            yield Broken("an element that no template has", tag)
        for name, value in attributes.items():
            if name not in names or name.startswith("on"):
                yield Broken("an attribute that no template has", f"{name} of <{tag}>")
            yield from _attribute(tag, name, value)
    for words in found.texts:
        yield from characters(words.replace("\t", " ").replace("\u00ad", "").replace("\u200b", ""))
    for command in found.commands:
        if "\n" in command.strip():
            yield Broken("a command of several lines", repr(command))
        yield from lines(command, payload)


def _attribute(tag: str, name: str, value: str) -> Iterator[Broken]:
    if name in {"href", "src", "action", "formaction", "poster", "data"}:
        parts = urlsplit(value.strip())
        if (parts.scheme or parts.netloc) and value != "data:,":
            yield Broken("a link out of the page", f"{name}={value[:100]!r} of <{tag}>")
    elif MARK in value and name in {"style", "class", "http-equiv", "type", "rel"}:
        yield Broken("an attribute of a stranger", f"{name}={value[:100]!r} of <{tag}>")
    yield from characters(value.replace("\t", " "))


def _policy(found: _Elements) -> Iterator[Broken]:
    """A page runs its own script and nothing else, and says so before anything else."""
    policies = [
        attributes.get("content", "")
        for tag, attributes in found.tags
        if tag == "meta" and attributes.get("http-equiv", "").lower() == "content-security-policy"
    ]
    if len(policies) != 1 or "default-src 'none'" not in policies[0]:
        yield Broken("another policy", repr(policies))
    for attributes, content in found.scripts:
        if attributes.get("type") == "application/json":
            yield from _data_of_a_page(content)
        elif _digest(content) not in "".join(policies[:1]):
            yield Broken("a script or style that the policy does not name", repr(content[:60]))


def _data_of_a_page(content: str) -> Iterator[Broken]:
    if "<" in content:
        yield Broken("an element in the data of a page")
    for text in _strings(json.loads(content)):
        yield from characters(text.replace("\t", " "))


def _digest(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode(errors="surrogatepass")).digest()).decode()


def _strings(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, list):
        for each in document:
            yield from _strings(each)
    elif isinstance(document, Mapping):
        for name, each in document.items():
            yield from _strings(name)
            yield from _strings(each)
