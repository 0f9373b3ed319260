"""The options of every command in docs/commands.md, generated from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from harness.cli.commands import COMMANDS


def table() -> str:
    """Return a heading, the usage and the options of each command, in the order of their names."""
    root = click.Context(click.Group("fencepost"), info_name="fencepost")
    return "\n".join(
        part
        for command in sorted(COMMANDS, key=lambda each: each.name or "")
        for part in _parts(command, root)
    )


def _parts(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent, info_name=command.name)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from () if inner.hidden else _parts(inner, context)
        return
    yield f"### {context.command_path}\n\n{_usage(context)}\n"
    if rows := [_row(option, context) for option in command.params if isinstance(option, click.Option)]:
        yield f"| option | |\n|---|---|\n{''.join(rows)}"


def _usage(context: click.Context) -> str:
    words = " ".join(context.command.collect_usage_pieces(context))
    return f"`{context.command_path} {words}`: {context.command.get_short_help_str(limit=200)}"


def _row(option: click.Option, context: click.Context) -> str:
    """Return the row of an option; a pipe between choices would end a cell."""
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    value = "" if option.is_flag or choices else f" {option.make_metavar(context)}"
    names = ", ".join(f"`{name}{value}`" for name in option.opts)
    _, words = option.get_help_record(context) or ("", "")
    named = f"{', '.join(f'`{choice}`' for choice in choices)}. " if choices else ""
    return f"| {names} | {named}{words.replace('|', '/')} |\n"
