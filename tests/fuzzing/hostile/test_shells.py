"""Commands are found in outputs, and pasting them shows what they run."""

from __future__ import annotations

import pytest

from fuzzing.hostile.outputs import Kind, Output
from fuzzing.hostile.shells import SHELLS, Pasted, commands, paste


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
