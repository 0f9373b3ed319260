"""Runs the user's command that heals a fault, however the harness ends: `healer.py < COMMAND`.

A `survivor`: it runs the command, and says how it ended.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

from harness.core.errors import InfrastructureError
from harness.processes.script import Ended, run
from harness.processes.survivor import order_when_due, survivor


@contextmanager
def healed_at_end(words: Sequence[str], timeout: float) -> Iterator[Callable[[], Ended]]:
    """Run a command when the block ends, or this process does; each may take `timeout` seconds.

    Yields what runs it now, and returns how it ended; the end of the block does not run it again.
    """
    with survivor("harness.processes.healer", json.dumps([list(words), timeout]).encode()) as process:

        def heal() -> Ended:
            said, _ = process.communicate()
            if not said:
                raise InfrastructureError(f"{words[0]} was not run to heal: its process ended")
            return Ended(**json.loads(said))

        yield heal


def main() -> None:
    """Run the command line."""
    words, timeout = json.loads(order_when_due())
    ended = run(words, timeout)
    with suppress(BrokenPipeError):  # the harness was killed
        sys.stdout.write(json.dumps(asdict(ended)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
