"""`fencepost validate`."""

from __future__ import annotations

import click

from harness.cli.options import OVERRIDES
from harness.cli.output import described, print_unselected
from harness.core.exit_codes import ExitCode
from harness.core.printing import say, show


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@OVERRIDES
def validate(files: tuple[str, ...], overrides: tuple[str, ...]) -> int:
    """Check target files, or all in a folder, and report every error.

    Nothing that a file names is run: programs and classes are looked for, and not started or loaded.
    Reported too, but no errors: a valid target that this machine cannot run, because no engine can or because
    a program or a class is missing; one that sends a password in plain text to another machine; one whose
    green run would mean little.
    """
    from harness.core.errors import ConfigurationError
    from harness.run import deployment
    from harness.run.engine_fit import engine_fit
    from harness.spec import load
    from harness.spec.executed import classes_not_loaded
    from harness.spec.selection import targets as select
    from harness.spec.warnings import readable_passwords, warnings

    selected = select(files)
    print_unselected(selected)
    code = ExitCode.AS_EXPECTED if selected.names else ExitCode.NOTHING_SELECTED
    for file in selected.names:
        try:
            target = load(file, overrides)
        except ConfigurationError as error:
            say(*error.lines)
            code = ExitCode.CONFIGURATION
        else:
            nowhere, on_docker_only = engine_fit(target)
            where = "; on Docker only" if on_docker_only else ""
            show(f"{file}: ok, {described(target)}{where}")
            unable = (nowhere, *deployment.missing_here(target), *classes_not_loaded(target))
            for why in filter(None, (*unable, *readable_passwords(target), *warnings(target))):
                say(f"{file}: {why}")
    return code
