"""The attacks with hostile text find what they are made to find: in outputs, in shells, in all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzing import campaign
from fuzzing.hostile.inert import violations
from fuzzing.hostile.outputs import READERS, Kind, Output
from fuzzing.hostile.payloads import PAYLOADS, Payload
from fuzzing.hostile.shells import SHELLS, Pasted, commands, paste
from fuzzing.hostile.text import harmless, one_turn, words_of
from tests.support.selection import nightly

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


@pytest.mark.slow
def test_all_kinds_of_outputs_are_read() -> None:
    readers = ("run", "run elsewhere", "run for others", "shard")
    kinds = {output.kind for reader in readers for output in harmless(reader).values()}

    assert kinds == set(Kind)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_words_of_a_command_are_noted(shell: str) -> None:
    line = "cd / && PYTHONPATH=/x fencepost run '/a b/$(touch PWNED)/'\"'\"'' --seed 7"

    assert paste([line], shell) == ([Pasted(line, (("run", "/a b/$(touch PWNED)/'", "--seed", "7"),))], False)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "line",
    [
        "fencepost run a; touch PWNED",
        "fencepost run $(touch PWNED)",
        "fencepost run `touch PWNED`",
        "touch PWNED",
        "fencepost run a\ntouch PWNED",
        "cd 'a'b; touch PWNED #'",
    ],
)
def test_a_command_of_a_stranger_is_noticed(shell: str, line: str) -> None:
    assert paste([line], shell)[1]


@pytest.mark.skipif("zsh" not in SHELLS, reason="zsh is not installed")
def test_a_comment_runs_in_zsh_as_it_is_typed() -> None:
    assert paste(["fencepost run a  # $(touch PWNED)"], "zsh")[1]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_line_that_is_no_command_spoils_no_other(shell: str) -> None:
    pasted, ran = paste(["fencepost run 'a", "if", "fencepost show b"], shell)

    assert [each.calls for each in pasted] == [(), (), (("show", "b"),)]
    assert not ran


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.TERMINAL, "  judge again  fencepost recheck a\n"),
        (Kind.TTY, "\x1b[2m  run again    fencepost recheck a\x1b[0m\n"),
        (Kind.TERMINAL, "no verdict; `fencepost recheck a` judges it\n"),
        (Kind.TERMINAL, "2-0123456789ab  a, 25 s\n  fencepost recheck a\n"),
        (Kind.PAGE, '<div class="shell"><code>fencepost recheck a</code></div><code>x</code>'),
        (Kind.MARKDOWN, "In the folder:\n\n    fencepost recheck a\n"),
        (Kind.JUNIT, "<a><failure>x\njudge again: fencepost recheck a\n</failure></a>"),
    ],
)
def test_the_commands_of_an_output_are_found(kind: Kind, text: str) -> None:
    assert commands(Output(name="o", kind=kind, text=text)) == ["fencepost recheck a"]


SEED = 20261126
FIRST = ("verdict", "run")


@pytest.mark.slow
@pytest.mark.parametrize("reader", [*FIRST, *nightly(*sorted(READERS.keys() - {*FIRST}))])
def test_nothing_of_a_hostile_text_comes_through(reader: str, tmp_path: Path) -> None:
    with campaign.warm([]) as scratch:
        harmless(reader)
        tally = campaign.Tally()
        trial = campaign.Trial(scratch, tmp_path, tally)
        for case in one_turn(SEED):
            if case.reader == reader:
                trial("hostile-text", case)

    assert tally.findings == []
    assert tally.cases.total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_each_reader_has_all_its_outputs_without_a_hostile_text(reader: str) -> None:
    with campaign.warm([]):
        outputs = harmless(reader)

    assert outputs
    assert all(output.text for output in outputs.values())


def test_one_turn_has_every_word_of_every_reader() -> None:
    cases = one_turn(SEED)

    asked = {(case.reader, word) for case in cases for word in case.words}
    assert asked == {(reader, word) for reader, (subject, _) in READERS.items() for word in words_of(subject)}
    assert len(cases) >= 200
