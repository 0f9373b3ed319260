"""The tree of all errors that Fencepost raises on purpose.

FencepostError                       the message has place, value and remedy
├── HistoryError                     exit 4: a recorded history cannot be what it says it is
├── ModelError                       exit 4: a model or an operation contradicts itself
├── ConfigurationError               exit 4: a target file, an option or a name is wrong
└── InfrastructureError              exit 3: an engine, a server or a fault failed
    ├── EngineUnavailableError       no engine answers, or it lacks what the target needs
    ├── ResourceExhaustedError                  disk, file descriptors or memory are used up
    ├── ServerNotReadyError          a server was not built, did not start or is not healthy
    └── FaultNotInstalledError       a fault was not observed in force, or not observed healed
"""

from checkers.text.errors import FencepostError, HistoryError, ModelError
from checkers.text.printable import printable

__all__ = [
    "ConfigurationError",
    "EngineUnavailableError",
    "FaultNotInstalledError",
    "FencepostError",
    "HistoryError",
    "InfrastructureError",
    "ModelError",
    "ResourceExhaustedError",
    "ServerNotReadyError",
]


class ConfigurationError(FencepostError):
    """A target file, an option or a name is wrong; as a rule, nothing was started."""


class InfrastructureError(FencepostError):
    """The infrastructure of a test failed: neither a violation nor a pass.

    `heading` ends the first line, if lines of a log follow it: "its last log lines:".
    """

    def __init__(self, sentence: str, *more: str, heading: str = "") -> None:
        super().__init__(f"{sentence}; {heading}" if heading else sentence, *more)
        self._heading = printable(heading)

    @property
    def sentence(self) -> str:
        """The first line without the heading."""
        return self.lines[0].removesuffix(f"; {self._heading}")


class EngineUnavailableError(InfrastructureError):
    """No engine answers, or it lacks what the target needs."""


class ResourceExhaustedError(InfrastructureError):
    """Disk, file descriptors or memory are used up; the message names the file or the limit."""

    def __init__(self, message: str, errno: int) -> None:
        super().__init__(message)
        self.errno = errno


class ServerNotReadyError(InfrastructureError):
    """A server was not built, did not start or is not healthy; the message ends with its last log lines."""


class FaultNotInstalledError(InfrastructureError):
    """A fault was not observed in force, or not observed healed."""

    def __init__(self, kind: str, target: str, seen: str) -> None:
        super().__init__(f"{kind} of {target} was not observed: {seen}")
