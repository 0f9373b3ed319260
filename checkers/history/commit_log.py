"""The storage's own order of accepted writes and fences, matched to the history of the clients.

A commit *fits* if a client sent that value to that resource with that token; a fence fits
if a client fenced that resource with that token. The log speaks for the run, so one that is
handed in and of which nothing fits is that of another run and is refused. The log in a run's
own folder is evidence, whatever fits of it.

Single commits that do not fit contradict what the clients say they sent:

- no client sent the value there: the log has it, and the history has no such write;
- the value was sent with another token: the write took effect, but not as it was sent. One
  that was sent with a token and is logged without one got past the fence.

Such a commit is *unmatched*. It took effect like any other: it raised the mark to the token
that the log has, and keeps its place in the log. A write whose token got lost on the way
is one of the token that it was sent with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checkers.history.records import Commit, Op
from checkers.text.errors import HistoryError, as_recorded

UNRECORDED = -(1 << 62)
"""The index of the first unrecorded write: below that of every operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place of the log."""

    place: int  # among all commits of the log
    commit: Commit
    sent: Op | None  # by a client: the write of this value, wherever to, or the fence with this token
    near: Op | None = None  # if unmatched: a write that fits the log, if possible the one before it there

    @property
    def fits(self) -> bool:
        """Was it sent there as it was stored?"""
        return self.sent is not None and (self.sent.resource, self.sent.token) == (
            self.commit.resource,
            self.commit.token,
        )

    @property
    def was_sent_elsewhere(self) -> bool:
        """Did a client send it to another resource?"""
        return self.sent is not None and self.sent.resource != self.commit.resource

    @property
    def accused(self) -> Op:
        """The write as it was sent; for a value that no client sent, an unrecorded one."""
        return self.op if self.sent is None else self.sent

    @property
    def token(self) -> int | None:
        """The token that was stored; of a write that lost its token on the way, the one it was sent with."""
        if self.commit.token is None and self.sent is not None and not self.was_sent_elsewhere:
            return self.sent.token
        return self.commit.token

    @property
    def op(self) -> Op:
        """The operation as it was stored there: with the logged token, and possibly no client."""
        commit = self.commit
        if self.sent is not None and not self.was_sent_elsewhere:
            return self.sent if self.token == self.sent.token else replace(self.sent, token=self.token)
        return Op(
            index=UNRECORDED + self.place,
            process=-1,
            f="fence" if commit.fence else "write",
            resource=commit.resource,
            called=0,
            token=commit.token,
            value=commit.value,
        )

    @property
    def is_unrecorded(self) -> bool:
        """Did no client send it there, so that its time of sending is unknown?"""
        return self.sent is None or self.was_sent_elsewhere


def of_another_run(entry: Entry) -> HistoryError:
    """The message about a log that does not fit, by its first entry."""
    commit, write = entry.commit, entry.sent
    if commit.fence:
        problem = f"a fence with token {commit.token} was committed, but the history has none of it"
    elif write is None:
        problem = f"value {as_recorded(commit.value)} was committed, but the history has no write of it"
    else:
        return HistoryError(
            commit.file,
            commit.line,
            f"value {as_recorded(commit.value)} was committed to {commit.resource} with token {commit.token},"
            f" but line {write.lines[0]} of the history wrote it to {write.resource}"
            f" with token {write.token}, and no other commit fits; are these the commits of another run?",
        )
    return HistoryError(
        commit.file,
        commit.line,
        f"{problem}, and none that fits any other commit; are these the commits of another run?",
    )
