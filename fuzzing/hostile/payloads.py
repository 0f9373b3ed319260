"""Hostile texts: each tries to bring a line, a command, a link, a character or an element into an output."""

from __future__ import annotations

from dataclasses import dataclass

MARK = "PWNED"
"""It is in every hostile text that is not a single character."""
EVIL = "http://evil.example"
_RUN = f"touch {MARK}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A hostile text. `forged`: how the lines begin that it tries to add."""

    name: str
    text: str
    forged: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()  # sequences that no output may contain, not even a colored one


def _lines(name: str, separator: str) -> Payload:
    text = f"a{separator}{MARK}: valid{separator}{MARK} fencepost run x"
    return Payload(name=name, text=text, forged=(f"{MARK}: valid", f"{MARK} fencepost"))


def _texts(**texts: str) -> tuple[Payload, ...]:
    return tuple(Payload(name=name.replace("_", " "), text=text) for name, text in texts.items())


LINES = (
    _lines("a new line", "\n"),
    _lines("a carriage return", "\r"),
    _lines("both", "\r\n"),
    _lines("a vertical tab", "\v"),
    _lines("a form feed", "\f"),
    _lines("NEL", "\x85"),
    _lines("a line separator", "\u2028"),
    _lines("a paragraph separator", "\u2029"),
    Payload(
        name="a line of Markdown",
        text=f"a\n\n# {MARK}\n\n- {MARK}\n\n| {MARK} | b |\n|---|---|\n| c | d |\n\n```\n{MARK}",
        forged=(f"# {MARK}", f"- {MARK}", f"| {MARK} |", "```"),
    ),
    Payload(name="steps of a proof", text=f"a\n1. {MARK}\nline 2", forged=(f"1. {MARK}",)),
    Payload(
        name="a command to copy",
        text=f"a\n  judge again  {_RUN}\nrun again: {_RUN}",
        forged=("judge again  touch", "run again: touch"),
    ),
)
WORKFLOW_COMMANDS = _texts(
    error_command=f"::error::{MARK}",
    warning_command=f" ::warning file=x,line=1::{MARK}",
    add_mask=f"::add-mask::{MARK}",
    stop_commands=f"::stop-commands::{MARK}",
    old_command=f"##[error]{MARK}",
    old_command_within=f"a ##[add-mask]{MARK}",
    section=f"##vso[task.setvariable variable=x]{MARK}",
    teamcity=f"##teamcity[buildStatus text='{MARK}']",
    error_after_a_line=f"a\n::error::{MARK}",
    error_after_a_return=f"a\r::error::{MARK}",
    escaped_line=f"a%0A::error::{MARK}",
    attachment=f"[[ATTACHMENT|/etc/passwd?{MARK}]]",
)
TERMINAL = (
    *(
        Payload(name=name, text=f"a{sequence}{MARK}", raw=(sequence,))
        for name, sequence in (
            ("a color", "\x1b[38;5;99m"),
            ("a cleared screen", "\x1b[2J\x1b[H"),
            ("a line up", "\x1b[1A\x1b[2K"),
            ("a link for the terminal", f"\x1b]8;;{EVIL}\x1b\\"),
            ("the clipboard", "\x1b]52;c;UFdORUQ=\x07"),
            ("a title", "\x1b]0;x\x07"),
            ("a device string", "\x1bP$q\x1b\\"),
            ("the end of a paste", "\x1b[201~\r"),
            ("C1 CSI", "\x9b31m"),
            ("C1 OSC", f"\x9d8;;{EVIL}\x9c"),
            ("backspaces", "\b\b\b\b"),
            ("a bell", "\a"),
            ("delete", "\x7f"),
            ("a right-to-left override", "\u202e"),
            ("an isolate", "\u2066"),
            ("a right-to-left mark", "\u200f"),
            ("a zero-width space", "\u200b"),
            ("a joiner", "\u200d"),
            ("a byte-order mark", "\ufeff"),
            ("a soft hyphen", "\xad"),
            ("tag characters", "\U000e0041\U000e007f"),
            ("a variation selector", "\U000e0101"),
            ("a Hangul filler", "\u3164"),
            ("an unassigned character", "\U000e0fff"),
            ("half of a surrogate pair", "\ud800"),
            ("null", "\0"),
            ("interlinear annotation", "\ufff9\ufffb"),
        )
    ),
    *_texts(
        link_of_rich=f"[link={EVIL}]{MARK}[/link]",
        style_of_rich=f"[bold red]{MARK}[/bold red]",
        closing_tag_of_rich=f"{MARK}[/]",
        emoji_of_rich=f":skull: {MARK}",
    ),
)
PAGES = _texts(
    script=f"</code></p><script>alert('{MARK}')</script>",
    end_of_script=f"</script><script>{MARK}()</script>",
    comment=f"<!--<script>{MARK}",
    image=f"<img src=x onerror={MARK}()>",
    attribute=f'" onmouseover="{MARK}()',
    attribute_in_single_quotes=f"' onmouseover='{MARK}()",
    frame=f"<iframe srcdoc='{MARK}'></iframe><base href={EVIL}>",
    style=f"<style>*{{display:none}}</style><link rel=stylesheet href={EVIL}>{MARK}",
    script_url=f"javascript:{MARK}()",
    end_of_cdata=f"]]><failure>{MARK}</failure><![CDATA[",
    entity=f"&lt;b&gt;{MARK}&amp;&#10;&#x1b;",
    document_type=f'<!DOCTYPE x [<!ENTITY a "{MARK}">]>&a;',
    template=f"{{{{7*7}}}}{{% raw %}}{MARK}",
)
MARKDOWN = _texts(
    link=f"[{MARK}]({EVIL})",
    reference=f"[{MARK}][x] [x]: {EVIL}",
    picture=f"![{MARK}]({EVIL}/x.png)",
    autolink=f"<{EVIL}/{MARK}>",
    bare_url=f"{EVIL}/{MARK}",
    bare_www=f"www.evil.example/{MARK}",
    bare_mail=f"{MARK}@evil.example",
    mention=f"@everyone {MARK}",
    mention_of_a_team=f"@evil/{MARK}",
    issue=f"#1 {MARK}",
    issue_elsewhere=f"evil/{MARK}#1",
    closing_keyword=f"Fixes #1 {MARK} GH-1",
    emphasis=f"*{MARK}* **{MARK}** _{MARK}_ __{MARK}__",
    strike=f"~~{MARK}~~",
    math=f"$\\href{{javascript:{MARK}}}{{x}}$ $$x$$",
    code=f"`{MARK}` ``{MARK}``",
    half_of_code=f"`{MARK}",
    many_backticks=f"````{MARK}````",
    cell_of_a_table=f"a | {MARK} | b |",
    escapes=f"\\| \\` {MARK} \\",
    html_in_markdown=f"<a href={EVIL}>{MARK}</a>",
    details=f"<details open><summary>{MARK}</summary>",
    footnote=f"[^1] {MARK}",
    alert=f"> [!WARNING] {MARK}",
    emoji=f":tada: {MARK}",
)
SHELLS = _texts(
    substitution=f"$({_RUN})",
    backticks=f"`{_RUN}`",
    quote=f"'; {_RUN} #",
    double_quote=f'"; {_RUN} #',
    password_in_quotes=f"password='b; {_RUN} #",
    password_closed=f"password=b'; {_RUN} #",
    token_in_quotes=f"token='x' ; {_RUN} ; '",
    secret_option=f"--password 'x; {_RUN}; '",
    secret_url=f"https://u:'p@x; {_RUN} #",
    secret_url_in_quotes=f"https://u:p'@x/;{_RUN};'",
    ampersand=f"a && {_RUN}",
    pipe=f"a | {_RUN}",
    new_line=f"a\n{_RUN}\n",
    new_line_in_a_comment=f"1.0\n{_RUN} #",
    history=f"!! !{_RUN}",
    tilde=f"~/{MARK} *",
    option=f"--runs=/tmp/{MARK}",
    short_option=f"-{MARK}",
    unclosed=f"'{MARK}",
    variable=f"${{PATH}} {MARK}",
    process=f"<({_RUN})",
    glob_of_zsh=f"*(e:'{_RUN}':)",
    equals_of_zsh=f"=fencepost {MARK}",
    assignment=f"PATH=/tmp/{MARK} fencepost",
)
LONG = _texts(
    long=f"{MARK} " * 2_000,
    long_word=MARK * 2_000,
    long_and_quoted=f"'{MARK}" * 2_000,
    long_before_a_command="x" * 4_900 + f"'; {_RUN} #'" + "y" * 200,
    many_lines=f"{MARK}\n" * 2_000,
    empty="",
    space=" ",
)
_LIVE = (
    f'<img src=x onerror={MARK}()>" onmouseover="{MARK}() [x]({EVIL}) ![x]({EVIL}) {EVIL} @everyone #1 **b** ~~b~~'
    f" $x$ `{_RUN}` $({_RUN}) a'b; {_RUN} #"
)
VISIBLE = Payload(
    name="all that can be seen",
    text=f"::error::{MARK} ##[error]{MARK} </code><script>{MARK}()</script>{_LIVE}",
)
"""Several at once, in which no character has to be escaped."""
EVERYTHING = Payload(
    name="everything",
    text=(
        f"a\n{MARK}: valid\n::error::{MARK}\r##[error]{MARK}\x1b[38;5;99m\x9b31m\u202e\u200b\u2028{MARK} x"
        f"\n# {MARK}\n|b|{_LIVE} password='b; {_RUN} #"
    ),
    forged=(f"{MARK}: valid", f"# {MARK}", f"{MARK} x"),
    raw=("\x1b[38;5;99m",),
)
"""Several at once, of all kinds."""
PAYLOADS: dict[str, Payload] = {
    payload.name: payload
    for payload in (
        *LINES,
        *WORKFLOW_COMMANDS,
        *TERMINAL,
        *PAGES,
        *MARKDOWN,
        *SHELLS,
        *LONG,
        VISIBLE,
        EVERYTHING,
    )
}
"""All of them, by name."""
