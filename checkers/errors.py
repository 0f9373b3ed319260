"""The root of every error that Fencepost raises on purpose, and those of a recorded history."""

from checkers.printable import LONGEST_LINE, quoted, shorten


class FencepostError(Exception):
    """Something went wrong that the user can fix: the message says where and how."""


class ModelError(FencepostError):
    """A model or an operation contradicts itself, or there is no such model: nothing can be judged by it."""


def as_recorded(value: object) -> str:
    """A value as a message has it; what is null in the file is called so."""
    return "null" if value is None else quoted(value)


class HistoryError(FencepostError):
    """A recorded history (or commit log) cannot be what it says it is.

    `str()` reads `file:line: what is wrong, with the value`; line 0 is the whole file, and not shown.
    """

    def __init__(self, file: str, line: int, problem: str) -> None:
        place = shorten(file, LONGEST_LINE) + (f":{line}" if line else "")
        super().__init__(f"{place}: {shorten(problem, LONGEST_LINE)}")
        self.file = file
        self.line = line
