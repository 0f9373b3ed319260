"""The command `fencepost`: its group, and the edge where every error ends as one message.

Heavy imports stay inside the commands, so that `--help` is fast.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence

import click

from harness.cli.commands import COMMANDS
from harness.cli.output import print_sweep
from harness.core.exit_codes import ExitCode, of_error
from harness.core.printing import say
from harness.processes import import_path

SWEEPING = {"run", "recheck", "shrink", "zoo", "campaign", "card", "bench"}
"""The commands that first remove what killed runs left behind; `clean` itself reports more."""

_NEXT_CHOICE = "\n\t"
"""How click begins each value that an argument may have."""

EPILOG = """
\b
Exit codes:
  0  as expected
  1  a violation was found, or an expected one was not
  2  unknown: not tested, or undecided
  3  infrastructure failure: servers, engine or faults
  4  bad configuration or usage
  5  nothing was selected
  130  interrupted
With several runs, the first of 1, 130, 4, 3, 2, 0 that occurs.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code. Every error ends here, as one message."""
    import_path.leave_current_folder()
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    _end_on_signals()
    try:
        return _invoke(sys.argv[1:] if arguments is None else arguments)
    except click.ClickException as error:
        say(*_usage(error))
        return ExitCode.CONFIGURATION
    except (KeyboardInterrupt, click.Abort) as error:
        say(*map(str, error.args or ("interrupted",)))
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return ExitCode.BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 (the edge)
        return _failure(error)


def _usage(error: click.ClickException) -> Iterator[str]:
    """What click says about a wrong command line; the words of the user in it are one line."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        yield from error.format_message().splitlines()
        return
    if isinstance(error, click.UsageError) and error.ctx:
        yield from error.ctx.get_usage().splitlines()
        yield f"Try '{error.ctx.command_path} --help' for help."
        yield ""
    yield f"Error: {error.format_message().replace(_NEXT_CHOICE, ' ')}"


def _failure(error: Exception) -> int:
    from checkers.text.printable import quotation
    from harness.core import exhaustion
    from harness.core.errors import FencepostError

    if isinstance(error, FencepostError):
        say(*error.lines)
        return of_error(error)
    if isinstance(error, OSError) and error.errno in exhaustion.USED_UP:
        _discard_stdout()
        lead = "" if error.filename else "this machine has run out of something: "
        say(f"{lead}{exhaustion.sentence(error)}")
    else:
        import traceback

        say(*quotation("".join(traceback.format_exception(error))))
        say("this is a bug in Fencepost: please report it with the lines above")
    return ExitCode.INFRASTRUCTURE


def _invoke(arguments: Sequence[str]) -> int:
    """Run a command like click's own `main`, which would exit with 1, a violation, on a broken pipe."""
    try:
        with cli.make_context("fencepost", list(arguments)) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as done:  # --help and --version
        code = done.exit_code
    if sys.stdout is not None:  # it was closed before Python started
        sys.stdout.flush()
    return int(code or 0)


def _discard_stdout() -> None:
    """Python flushes stdout once more when it exits, which must not fail again."""
    with contextlib.suppress(OSError):  # no descriptor is free: stdout itself is not full
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _end_on_signals() -> None:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that everything is cleaned up; `nohup` still works."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


@click.group(commands=COMMANDS, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost", prog_name="fencepost")
@click.pass_context
def cli(context: click.Context) -> None:
    """Tests on real servers, under real faults, whether fencing tokens keep stale writers out."""
    if context.invoked_subcommand in SWEEPING:
        from harness.engines.cleanup import sweep

        print_sweep(sweep())
