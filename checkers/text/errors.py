"""The root of every error that Fencepost raises on purpose, and the errors of a recorded history."""

from checkers.text.places import EventIndex, cited
from checkers.text.printable import LONGEST_LINE, message, printable, quoted, shorten


class FencepostError(Exception):
    """Something went wrong that the user can fix: the message says where and how.

    Each argument is one line of the message. It is escaped here, values included, so a newline in a
    value begins no line.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(printable, lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the message; usually one."""
        return self.args

    def __str__(self) -> str:
        return message(*self.lines)


class ModelError(FencepostError):
    """A model or an operation contradicts itself, or there is no such model: judging is impossible."""


def as_recorded(value: object) -> str:
    """Format a value as in the file, where None is null."""
    return "null" if value is None else quoted(value)


class HistoryError(FencepostError):
    """A recorded history (or commit log) is not what it claims to be.

    `str()` reads `file:line: what is wrong, with the value`; line 0 means the whole file, and is not shown.
    An event without a line of its own is cited by its index.
    """

    def __init__(self, file: str, line: int, problem: str) -> None:
        where = f": {cited(line)}" if isinstance(line, EventIndex) else f":{line}" if line else ""
        super().__init__(f"{shorten(file, LONGEST_LINE)}{where}: {shorten(problem, LONGEST_LINE)}")
        self.file = file
        self.line = line
        self.problem = problem
