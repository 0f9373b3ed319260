"""Every error of Fencepost, as a tree.

FencepostError                       the message says where, what and the remedy
├── HistoryError                     exit 4: a recorded history cannot be what it says it is
├── ModelError                       exit 4: a model or an operation contradicts itself
├── ConfigurationError               exit 4: a target file, an option or a name is wrong
└── InfrastructureError              exit 3: an engine, a server or a fault tool did not do its part
    ├── EngineUnavailableError       no engine answers, or it lacks what the target needs
    ├── ResourceExhaustedError                  the disk, the file descriptors or the memory are used up
    ├── ServerNotReadyError          a server did not build, start or get healthy
    └── FaultNotInstalledError       a fault was asked for and never seen in force, or never seen healed
"""

from checkers.errors import FencepostError, HistoryError, ModelError

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
    """A target file, an option or a name is wrong; nothing was started."""


class InfrastructureError(FencepostError):
    """Something under the test did not do its part: neither a violation nor a pass."""


class EngineUnavailableError(InfrastructureError):
    """No engine answers, or it lacks what the target needs."""


class ResourceExhaustedError(InfrastructureError):
    """The disk, the file descriptors or the memory are used up; the message names the file or the limit."""

    def __init__(self, message: str, errno: int) -> None:
        super().__init__(message)
        self.errno = errno


class ServerNotReadyError(InfrastructureError):
    """A server did not build, start or get healthy; the message ends in its last log lines."""


class FaultNotInstalledError(InfrastructureError):
    """A fault was asked for and never seen in force, or never seen healed."""

    def __init__(self, kind: str, target: str, seen: str) -> None:
        super().__init__(f"{kind} of {target} was not observed: {seen}")
