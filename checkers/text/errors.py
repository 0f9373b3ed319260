"""The root of every error that Fencepost raises on purpose, and those of a recorded history."""

from checkers.text.places import EventIndex, cited
from checkers.text.printable import LONGEST_LINE, message, printable, quoted, shorten


class FencepostError(Exception):
    """Something went wrong that the user can fix: the message says where and how.

    Each argument is one line of the message. It is escaped here, with the values in it, so that no
    newline of a value begins a line.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(printable, lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the message; most have one."""
        return self.args

    def __str__(self) -> str:
        return message(*self.lines)


class ModelError(FencepostError):
    """A model or an operation contradicts itself, or there is no such model: nothing can be judged by it."""


def as_recorded(value: object) -> str:
    """A value as a message has it; what is null in the file is called so."""
    return "null" if value is None else quoted(value)


class HistoryError(FencepostError):
    """A recorded history (or commit log) cannot be what it says it is.

    `str()` reads `file:line: what is wrong, with the value`; line 0 is the whole file, and not shown.
    An event without a line of its own is cited by its index.
    """

    def __init__(self, file: str, line: int, problem: str) -> None:
        where = f": {cited(line)}" if isinstance(line, EventIndex) else f":{line}" if line else ""
        super().__init__(f"{shorten(file, LONGEST_LINE)}{where}: {shorten(problem, LONGEST_LINE)}")
        self.file = file
        self.line = line
        self.problem = problem
