"""The command `fencepost`.

Imports of anything heavy stay inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from harness import safe_path
from harness.exit_codes import ExitCode, of_error

if TYPE_CHECKING:
    from harness.selection import Selection
    from harness.target import StorageSpec, Target

LONGEST_SEED = 20  # digits

SWEEPING = {"run", "recheck", "zoo"}
"""The commands that first remove what killed runs left behind; `clean` does, and tells more."""


def _folder(_context: click.Context, _option: click.Parameter, path: Path) -> Path:
    from harness.paths import path_of

    return path_of(str(path))


FORMATS = click.Choice(["text", "json"])
ENGINES = click.Choice(["auto", "docker", "local"])
RUNS = click.option(
    "--runs",
    default="runs",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    callback=_folder,
    help="Where the folders of the runs are.",
)
MODELS = (
    "cas-register",
    "counter",
    "fenced-mutex",
    "kv",
    "mutex",
    "owned-mutex",
    "reentrant-fenced-mutex",
    "reentrant-mutex",
    "register",
    "set",
)
HISTORY = click.argument("history", metavar="HISTORY|RUN")
OUTPUT = click.option(
    "-o",
    "--output",
    "file",
    default="-",
    type=click.Path(path_type=Path, allow_dash=True),
    help="A new file. Default: stdout.",
)
FORCE = click.option("--force", is_flag=True, help="Replace the output file if it exists.")
FORMAT = click.option(
    "--format",
    "output",
    default="text",
    type=FORMATS,
    help="json: one verdict a line on stdout, everything else on stderr.",
)

EPILOG = """
\b
Exit codes:
  0  as expected
  1  a violation, or an expected one was not found
  2  unknown: not exercised, or undecided
  3  infrastructure failure: servers, engine or faults
  4  bad configuration, or a wrong use of this command
  5  nothing was selected
  130  interrupted
Of several runs, the first of 1, 130, 4, 3, 2, 0 that occurs.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code. Every error ends here, as one message."""
    safe_path.leave_current_folder()
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    _end_on_signals()
    try:
        return _invoke(sys.argv[1:] if arguments is None else arguments)
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        _say(said.getvalue().rstrip("\n"))
        return ExitCode.CONFIGURATION
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return ExitCode.BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 (the edge)
        return _failure(error)


def _failure(error: Exception) -> int:
    from harness import room
    from harness.errors import FencepostError

    if isinstance(error, FencepostError):
        _say(str(error))
        return of_error(error)
    if isinstance(error, OSError) and error.errno in room.USED_UP:
        _discard_stdout()
        _say(f"this machine has no room to go on: {room.sentence(error)}")
    else:
        _say("".join(traceback.format_exception(error)).rstrip("\n"))
        _say("this is a bug of Fencepost; the run folder holds what was recorded")
    return ExitCode.INFRASTRUCTURE


def _invoke(arguments: Sequence[str]) -> int:
    """Run a command as click's own `main` does, which would end a broken pipe with 1: a violation."""
    try:
        with cli.make_context("fencepost", list(arguments)) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as done:  # --help and --version
        code = done.exit_code
    if sys.stdout is not None:  # it was closed before Python began
        sys.stdout.flush()
    return int(code or 0)


def _say(text: str) -> None:
    """Print on stderr; what it quotes may be anybody's words."""
    from checkers.printable import message

    click.echo(message(text), err=True)


def _discard_stdout() -> None:
    """Python flushes stdout once more when it exits, which must not fail again."""
    with contextlib.suppress(OSError):  # no descriptor is free: then it is not stdout that is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _end_on_signals() -> None:
    """End as on Ctrl-C, so that everything is taken down; `nohup` stays in force."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _seed(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    if text is None or (text.isdecimal() and len(text) <= LONGEST_SEED):
        return text if text is None else int(text)
    raise click.BadParameter(f"{text!r} is no seed: give the whole number that a run printed, such as 7")


def _model(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    if name is None or name in MODELS:
        return name
    from harness.errors import ConfigurationError
    from harness.target.names import did_you_mean

    raise ConfigurationError(f"no model is called {name}{did_you_mean(name, MODELS)}")


def _model_option(*, required: bool, told: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--model", required=required, metavar="MODEL", callback=_model, help=f"{told} {', '.join(MODELS)}."
    )


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost", prog_name="fencepost")
@click.pass_context
def cli(context: click.Context) -> None:
    """Test, on real servers and under real faults, whether fencing keeps stale writers out."""
    if context.invoked_subcommand in SWEEPING:
        from harness.leftovers import sweep

        _report_sweep(sweep())


@cli.command(short_help="Run targets.")
@click.argument("names", metavar="TARGET...", nargs=-1)
@click.option("--engine", default="auto", type=ENGINES, help="auto: Docker where it answers, else local.")
@click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a setting of the target."
)
@click.option("--seed", metavar="N", callback=_seed, help="Repeat the schedule of another run.")
@click.option("--no-faults", is_flag=True, help="Only the work: the verdict will be 'not exercised'.")
@FORMAT
@RUNS
def run(
    names: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
    overrides: tuple[str, ...],
    seed: int | None,
    no_faults: bool,
    output: str,
    runs: Path,
) -> int:
    """Run targets: by the name of one that ships, as a file, a folder, or a pattern such as 'etcd-*'."""
    from harness.selection import targets as select

    selected = select(names)
    _tell_what_is_empty(selected)
    if not selected.names:
        return ExitCode.NOTHING_SELECTED
    loaded = _load_all(selected.names, overrides, faults=not no_faults)

    from harness.engines.choice import choose
    from harness.run import RunOptions
    from harness.running import run_all

    chosen = choose(engine, _say)
    options = RunOptions(
        seed=seed,
        faults=not no_faults,
        runs=runs,
        command=("fencepost", *sys.argv[1:]),
        again=("--engine", chosen.name, *["--no-faults"] * no_faults),
    )
    return run_all(loaded, chosen, options, text=_text_stream(output), judged=_documents(output))


@cli.command(short_help="Judge a recorded run or history again.")
@click.argument("recorded", metavar="RUN|HISTORY")
@click.option(
    "--commits",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The storage's own order of accepted writes, where it is not beside the history.",
)
@_model_option(required=False, told="Judge a history of any tool as one of these objects:")
@FORMAT
@RUNS
def recheck(recorded: str, commits: Path | None, model: str | None, output: str, runs: Path) -> int:
    """Judge a recorded history again: a run, or a history file alone. Needs no server.

    With --model also those of Jepsen (EDN, JSON), Knossos and Porcupine.
    """
    if model is not None:
        return _recheck_by_model(recorded, commits, model, output, runs)
    from harness.paths import path_of
    from harness.rechecking import recheck_and_tell
    from harness.selection import run_folder

    path = path_of(recorded)
    path = path if path.is_file() else run_folder(recorded, runs)
    return recheck_and_tell(path, commits, text=_text_stream(output), judged=_documents(output))


@cli.command("export", short_help="Write a history for another tool.")
@HISTORY
@click.option("--to", "form", required=True, type=click.Choice(["jepsen-edn", "porcupine-etcd"]))
@_model_option(required=False, told="Only the operations of this object:")
@click.option("--key", help="Only what is about this resource or key.")
@OUTPUT
@FORCE
@RUNS
def export(
    history: str, form: str, model: str | None, key: str | None, file: Path, force: bool, runs: Path
) -> None:
    """Write a history, ours or another tool's, as Jepsen or Porcupine would."""
    from harness.foreign import export_history
    from harness.selection import history_file

    _output(file, export_history(history_file(history, runs), form, model, key), force=force)


@cli.command("import", short_help="Write another tool's history as ours.")
@HISTORY
@_model_option(required=True, told="What object the history is about:")
@OUTPUT
@FORCE
@RUNS
def import_(history: str, model: str, file: Path, force: bool, runs: Path) -> None:
    """Write another tool's history as a history.jsonl: a lock with tokens, or a register."""
    from harness.foreign import import_history
    from harness.selection import history_file

    _output(file, import_history(history_file(history, runs), model), force=force)


@cli.command(short_help="Open the report of a run.")
@click.argument("recorded", metavar="RUN")
@RUNS
def show(recorded: str, runs: Path) -> None:
    """Open the report of a run: its folder, or a target's name for its newest run."""
    from harness.report.show import show as open_report
    from harness.selection import run_folder

    open_report(run_folder(recorded, runs))


@cli.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a setting of the target."
)
def validate(files: tuple[str, ...], overrides: tuple[str, ...]) -> int:
    """Check target files, or all in a folder, and say all that is wrong with them."""
    from checkers.printable import LONGEST_LINE, shorten
    from harness.errors import ConfigurationError
    from harness.selection import targets as select
    from harness.target import load

    selected = select(files)
    _tell_what_is_empty(selected)
    code = ExitCode.AS_EXPECTED if selected.names else ExitCode.NOTHING_SELECTED
    for file in selected.names:
        try:
            click.echo(shorten(f"{file}: ok, {_described(load(file, overrides))}", LONGEST_LINE))
        except ConfigurationError as error:
            _say(str(error))
            code = ExitCode.CONFIGURATION
    return code


@cli.command()
@click.option("--format", "output", default="text", type=FORMATS, help="json: one list, on stdout.")
def targets(output: str) -> None:
    """List the targets that ship."""
    from harness.target import load, shipped

    rows = [(name, path, load(path)) for name, path in shipped().items()]
    if output == "json":
        listed = [
            {"name": name, "path": str(path), "expect": list(target.expected) or "valid"}
            for name, path, target in rows
        ]
        click.echo(json.dumps(listed, indent=1))
        return
    widest = max(len(name) for name, _, _ in rows)
    for name, _, target in rows:
        click.echo(f"{name:<{widest}}  {_described(target)}")


@cli.command(short_help="Run planted bugs and their correct twins.")
@click.argument("names", metavar="[BUG]...", nargs=-1)
@click.option("--engine", default="auto", type=ENGINES, help="auto: Docker where it answers, else local.")
@click.option("--seed", metavar="N", callback=_seed, help="Repeat the schedule of another run.")
@click.option(
    "--format",
    "output",
    default="text",
    type=FORMATS,
    help="json: one bug a line on stdout, the rest on stderr.",
)
@RUNS
def zoo(
    names: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
    seed: int | None,
    output: str,
    runs: Path,
) -> int:
    """Run the planted bugs, all or some, each beside its correct twin.

    A bug must be caught and its twin must be clean; else the exit code is 1.
    """
    from harness.engines.choice import choose
    from harness.run import RunOptions
    from harness.zoo import exhibits, show_all

    chosen = exhibits(names)
    used = choose(engine, _say)
    again = ("--engine", used.name)
    options = RunOptions(seed=seed, runs=runs, command=("fencepost", *sys.argv[1:]), again=again)
    return show_all(chosen, used, options, text=_text_stream(output), shown=_documents(output))


@cli.command(short_help="Print a JSON Schema.")
@click.argument("document", default="target", type=click.Choice(["target", "history", "commits", "verdict"]))
def schema(document: str) -> None:
    """Print the JSON Schema of target files, or of a file in a run folder."""
    from harness.schemas import schemas, written

    click.echo(written(schemas()[document]), nl=False)


@cli.command(short_help="Look at this machine: engines and tools.")
@RUNS
def doctor(runs: Path) -> int:
    """Look at this machine: engines and tools, and how to get what is not there."""
    from checkers.printable import printable
    from harness.doctor import can_run, examine

    findings = examine(runs)
    widest = max(len(finding.name) for finding in findings)
    for finding in findings:
        click.echo(f"{'ok' if finding.ok else 'NO':<3} {finding.name:<{widest}}  {printable(finding.seen)}")
        if finding.remedy:
            click.echo(f"{'':<{widest + 4}}  {printable(finding.remedy)}")
    return ExitCode.AS_EXPECTED if can_run(findings) else ExitCode.INFRASTRUCTURE


@cli.command(short_help="Remove what killed runs left behind.")
@click.option(
    "--columns", is_flag=True, help="Also what is kept of long histories to read them faster the next time."
)
def clean(*, columns: bool) -> None:
    """Remove what killed runs left behind: processes, containers, networks. Run folders stay."""
    from harness.leftovers import clean as remove

    swept = remove()
    if columns:
        from harness import column_folder

        swept += column_folder.remove()
    _report_sweep(swept)
    if not swept.removed and not swept.kept and not swept.notices:
        click.echo("nothing was left behind")


def _recheck_by_model(recorded: str, commits: Path | None, model: str, output: str, runs: Path) -> int:
    from harness.errors import ConfigurationError
    from harness.foreign import recheck_by_model
    from harness.selection import history_file

    if commits is not None:
        raise ConfigurationError("--commits is the order of a storage's writes, which no --model knows")
    path = history_file(recorded, runs)
    return recheck_by_model(path, model, text=_text_stream(output), judged=_documents(output))


def _output(file: Path, lines: Iterable[str], *, force: bool) -> None:
    """Write lines to a file that the user named, or to stdout."""
    from harness.paths import path_of
    from harness.whole_file import write_output

    if str(file) == "-":
        sys.stdout.writelines(lines)
    else:
        write_output(path_of(str(file)), lines, force=force)


def _tell_what_is_empty(selected: Selection) -> None:
    for sentence in selected.empty:
        _say(sentence)
    if not selected.names:
        click.echo("no target was selected; `fencepost targets` lists those that ship", err=True)


def _report_sweep(swept: Any) -> None:
    for thing in swept.removed:
        _say(f"removed what an earlier run left: {thing}")
    for thing in swept.kept:
        _say(f"left in place: {thing}")
    for notice in swept.notices:
        _say(notice)


def _load_all(names: Sequence[str], overrides: Sequence[str], *, faults: bool) -> list[Target]:
    """Read all targets before anything starts, and report the errors of all."""
    from harness.errors import ConfigurationError
    from harness.target import load

    loaded, errors = [], []
    for name in names:
        try:
            loaded.append(load(name, overrides, faults=faults))
        except ConfigurationError as error:
            errors.append(str(error))
    if errors:
        raise ConfigurationError("\n".join(errors))
    return loaded


def _described(target: Target) -> str:
    from harness.duration import format_duration

    lock, storage = target.lock, target.storage
    faults = ", ".join(dict.fromkeys(fault.kind for fault in target.faults)) or "no fault"
    return (
        f"{lock.kind} ×{len(lock.servers)}, {_fence(storage)}, {faults}, "
        f"{format_duration(target.workload.duration)}: expects {', '.join(target.expected) or 'valid'}"
    )


def _fence(storage: StorageSpec) -> str:
    """Such as "postgres, no fence"; the policy is that of a fence."""
    if storage.fencing == "none":
        return f"{storage.kind}, no fence"
    return f"{storage.kind}, {storage.fencing}" + (f" ({storage.policy})" if storage.policy else "")


def _text_stream(output: str) -> Any:
    return sys.stderr if output == "json" else sys.stdout


def _documents(output: str) -> Callable[[dict[str, Any]], None]:
    """Print verdict documents, where they were asked for, one a line."""
    if output == "json":
        from checkers.printable import as_json

        return lambda document: click.echo(as_json(document))
    return lambda _: None


if __name__ == "__main__":
    main()
