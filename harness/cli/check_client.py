"""Start servers and a program, and print whether it follows the line protocol."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Collection, Sequence

from checkers.text.printable import LONGEST_LINE, shorten
from harness.clients.admin import LAST_LINES
from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from harness.core.invocation import typed
from harness.core.printing import say, show
from harness.engines.choice import EngineName, choose
from harness.files.logs import last_lines
from harness.nemesis.stop import GRACE, StopSpec
from harness.run import deployment
from harness.run.programs import Programs, programs_on_servers
from harness.spec import Target
from harness.spec.fields import CLASS_PATTERN, PROGRAM
from harness.spec.hazards import points_aimed_at
from harness.spec.reading import load_text
from workloads.line_protocol.conformance import RESOURCES, Expected, conformance
from workloads.line_protocol.program_client import BOTH_SIDES, ProgramError

NAME = "check-client"
CLIENTS = 2


def target_of(
    command: str, lock: str, storage: str, fencing: str, overrides: Sequence[str], *, is_queue: bool = False
) -> Target:
    """Return a target with this program and these servers; ConfigurationError names what is wrong.

    A queue leaves the storage to Fencepost, but has none here unless one is named: nothing is written.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"{shorten(command)}: is not a command: {error}") from None
    _refuse_what_a_run_checks(words)
    given = [
        f"client.command={json.dumps(words)}",
        f"lock.kind={lock}",
        f"storage.kind={'sqlite' if is_queue and storage == PROGRAM else storage}",
        f"storage.fencing={fencing}",
        f"workload.clients={CLIENTS}",
        f"workload.resources={len(RESOURCES)}",
    ]
    if is_queue:
        given += ["client.side=queue", "workload.kind=run"]
    return load_text(f'name = "{NAME}"\nexpect = "valid"\n', NAME, [*given, *overrides])


def _refuse_what_a_run_checks(words: Sequence[str]) -> None:
    """Raise ConfigurationError for a class or a target file in place of a program."""
    word = words[0] if len(words) == 1 and shutil.which(words[0]) is None else ""
    if re.fullmatch(CLASS_PATTERN, word):
        raise ConfigurationError(
            f"{shorten(word)} is a class, not a program: name it as a kind in a target file,"
            " and check that with `fencepost validate FILE` and `fencepost run FILE`"
        )
    if word.endswith(".toml"):
        check, run = typed("validate", word), typed("run", word)
        raise ConfigurationError(
            f"{shorten(word)} is a target, not a program: check it with {check} and {run}"
        )


def check_program(target: Target, sides: Collection[str], engine: EngineName) -> ExitCode:
    """Print each check, and return whether all fit; 1 if one does not."""
    misfits = 0
    deployment.check(target)
    with programs_on_servers(target, frozenset(sides), choose(engine, say), RESOURCES) as programs:
        try:
            for check in conformance(programs.begin, _expected(programs), programs.silence):
                misfits += not check.fits
                found = shorten(check.found, LONGEST_LINE)
                show(f"{'ok   ' if check.fits else 'WRONG'} {check.request}: {found}")
        except ProgramError as error:
            said = last_lines(programs.log, LAST_LINES)
            raise ConfigurationError(f"{programs.command}: {error}", *said) from error
    wrong = f"{misfits} of these {'does' if misfits == 1 else 'do'} not fit: see docs/adapters.md"
    show(wrong if misfits else "everything fits")
    return ExitCode.VIOLATION if misfits else ExitCode.AS_EXPECTED


def _expected(programs: Programs) -> Expected:
    target = programs.target
    return Expected(
        sides=programs.sides,
        ttl=target.lock.ttl,
        fenced=target.fenced,
        policy=target.storage.policy,
        fence_on_acquire=target.storage.fence_on_acquire,
        served=frozenset(side for side in programs.sides & BOTH_SIDES if programs.servers(side)),
        aimed_at=points_aimed_at(target.faults),
        grace=min((each.grace for each in target.faults if isinstance(each, StopSpec)), default=GRACE)
        / NS["s"],
    )
