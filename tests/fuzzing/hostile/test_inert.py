"""The rules for outputs notice what they forbid, and nothing else."""

from __future__ import annotations

import pytest

from fuzzing.hostile.inert import violations
from fuzzing.hostile.outputs import Kind, Output
from fuzzing.hostile.payloads import PAYLOADS, Payload
from fuzzing.hostile.text import harmless

PAYLOAD = Payload(name="x", text="a\nPWNED: valid", forged=("PWNED: valid",), raw=("\x1b[38;5;99m",))
PAGE = (
    "<!doctype html><html><head>"
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'"></head><body>{}</body></html>'
)
JUNIT = '<testsuites><testsuite name="a"><system-out>{}</system-out></testsuite></testsuites>'


def rules(kind: Kind, text: str, before: str = "", payload: Payload = PAYLOAD) -> set[str]:
    harmless_output = Output(name="o", kind=kind, text=before) if before else None
    return {
        each.rule for each in violations(Output(name="o", kind=kind, text=text), harmless_output, payload)
    }


@pytest.mark.parametrize(
    ("kind", "text", "rule"),
    [
        (Kind.TERMINAL, "x\nPWNED: valid\n", "a forged line"),
        (Kind.TERMINAL, "x\n   PWNED: valid\n", "a forged line"),
        (Kind.TERMINAL, "x\x1b[2J", "a character is written raw"),
        (Kind.TERMINAL, "x\x9b31m", "a character is written raw"),
        (Kind.TERMINAL, "x\u202ey", "a character is written raw"),
        (Kind.TERMINAL, "x\rPWNED: valid", "a forged line"),
        (Kind.TERMINAL, " ::error::x", "a workflow command"),
        (Kind.TERMINAL, "a ##[add-mask]x", "a workflow command"),
        (Kind.TERMINAL, "Traceback (most recent call last):", "a traceback"),
        (Kind.TTY, "\x1b[1;31mx\x1b[38;5;99m\x1b[0m", "a sequence reaches the terminal"),
        (Kind.TTY, "\x1b]8;;http://evil.example\x1b\\x", "a character is written raw"),
        (Kind.TTY, "\x1b[1mPWNED: valid\x1b[0m", "a forged line"),
        (Kind.WORKFLOW, "::error file=a,line=1,title=b::c\n::set-env name=x::y", "a workflow command"),
        (Kind.WORKFLOW, "::error title=b::c ##[error]x", "a command within a command"),
        (Kind.DOCUMENTS, '{"a": "\u202e"}', "a character is written raw"),
        (Kind.PAGE, PAGE.format("<script>PWNED()</script>"), "a script or style that the policy does not name"),
        (Kind.PAGE, PAGE.format("<img src=x onerror=PWNED()>"), "an element that no template has"),
        (Kind.PAGE, PAGE.format('<b title="" onmouseover="PWNED()">x</b>'), "an attribute that no template has"),
        (Kind.PAGE, PAGE.format('<a href="javascript:PWNED()">x</a>'), "a link out of the page"),
        (Kind.PAGE, PAGE.format('<a href="//evil.example">x</a>'), "a link out of the page"),
        (Kind.PAGE, PAGE.format("<p>x\u202ey</p>"), "a character is written raw"),
        (Kind.PAGE, PAGE.format("<p title='x\x9by'></p>"), "a character is written raw"),
        (Kind.PAGE, PAGE.format('<div class="shell"><code>a\nb</code></div>'), "a command of several lines"),
        (Kind.PAGE, "<p>x</p>", "another policy"),
        (Kind.PAGE, PAGE.format('<script type="application/json">["<"]</script>'), "an element in the data of a page"),
        (Kind.MARKDOWN, "[x](http://evil.example)", "Markdown of a stranger"),
        (Kind.MARKDOWN, "![x](http://evil.example)", "Markdown of a stranger"),
        (Kind.MARKDOWN, "a <b>x</b>", "Markdown of a stranger"),
        (Kind.MARKDOWN, "~~x~~", "Markdown of a stranger"),
        (Kind.MARKDOWN, "**x**", "Markdown of a stranger"),
        (Kind.MARKDOWN, "see http://evil.example", "a URL"),
        (Kind.MARKDOWN, "see www.evil.example", "a URL"),
        (Kind.MARKDOWN, r"see http\://evil.example, \@everyone", "a mention"),
        (Kind.MARKDOWN, "fixes #1", "an issue"),
        (Kind.MARKDOWN, "evil/x#1", "an issue"),
        (Kind.MARKDOWN, "$x$", "math"),
        (Kind.MARKDOWN, "x\n\n    PWNED: valid", "a forged line"),
        (Kind.JUNIT, "<a><b></a>", "no XML"),
        (Kind.JUNIT, JUNIT.format("x\nPWNED: valid"), "a forged line"),
        (Kind.JUNIT, JUNIT.format("[[ATTACHMENT|/etc/passwd]]"), "an attachment that GitLab and Jenkins would publish"),
        (Kind.JUNIT, JUNIT.format("x\u202e"), "a character is written raw"),
        (Kind.JSON, '["\u200b"]', "a character is written raw"),
        (Kind.HISTORY, '{"value": "\u2028"}', "a character is written raw"),
    ],
)  # fmt: skip
def test_what_is_forbidden_is_noticed(kind: Kind, text: str, rule: str) -> None:
    assert rule in rules(kind, text)


@pytest.mark.parametrize(
    ("kind", "text", "before", "rule"),
    [
        (
            Kind.WORKFLOW,
            "::error title=a::b\n::error title=a::b\n",
            "::error title=a::b\n",
            "an additional workflow command",
        ),
        (Kind.DOCUMENTS, "{}\n{}\n", "{}\n", "additional documents"),
        (Kind.MARKDOWN, "# a\n\n# b\n", "# a\n", "additional Markdown"),
        (Kind.MARKDOWN, "| a |\n|---|\n| b |\n| c |\n", "| a |\n|---|\n| b |\n", "additional Markdown"),
        (Kind.JUNIT, "<a><b/><b/></a>", "<a><b/></a>", "additional XML"),
        (Kind.HISTORY, "{}\n{}\n", "{}\n", "additional lines"),
    ],
)
def test_what_is_there_more_often_than_without_it_is_noticed(
    kind: Kind, text: str, before: str, rule: str
) -> None:
    assert rule in rules(kind, text, before)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.TERMINAL, r"x\nPWNED: valid \x1b[2J \u202e a::b [link=x] $x$ <script> – ü"),
        (Kind.TTY, "\x1b[1;32mx\x1b[0m\r\x1b[K"),
        (Kind.WORKFLOW, "::error file=a,line=1,title=b%3A c::d%0A::e\n"),
        (Kind.PAGE, PAGE.format('<a href="runs/a.html">&lt;script&gt;</a><a href="#x">x</a>')),
        (Kind.MARKDOWN, "`@everyone #1 http://evil.example $x$ ~~x~~ <b>`"),
        (Kind.MARKDOWN, r"\*x\* \[x\]\(y\) a@b"),
        (Kind.JUNIT, JUNIT.format("&lt;b&gt; x")),
    ],
)
def test_text_that_is_only_text_is_allowed(kind: Kind, text: str) -> None:
    assert rules(kind, text) == set()


@pytest.mark.parametrize("reader", ["run", "shard"])
def test_outputs_without_a_hostile_text_break_no_rule(reader: str) -> None:
    for output in harmless(reader).values():
        assert violations(output, output, PAYLOADS["everything"]) == []


def test_all_kinds_of_outputs_are_read() -> None:
    readers = ("run", "run elsewhere", "run for others", "shard")
    kinds = {output.kind for reader in readers for output in harmless(reader).values()}

    assert kinds == set(Kind)
