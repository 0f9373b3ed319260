"""The storage's own order of accepted writes and fences, matched to the clients' history.

A commit *fits* if a client sent that value to that resource with that token; a fence fits
if a client fenced that resource with that token. If a log comes from outside the run's own
folder and none of its commits fits, it belongs to another run and is refused. The log in the
run's own folder is evidence even if no commit in it fits.

A single commit that does not fit contradicts what the clients say they sent:

- no client sent the value to that resource: the log has a write that the history lacks;
- the value was sent with another token: the write took effect, but not as it was sent. If it
  was sent with a token and is logged without one, it bypassed the fence.

Such a commit is *unmatched*. It took effect like any other: it raised the mark to the logged token, and keeps
its place in the log. A write that lost its token on the way counts with the token that it was sent with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checkers.history.records import Commit, Op
from checkers.text.errors import HistoryError, as_recorded

UNRECORDED = -(1 << 62)  # the index of the first unrecorded write, below the index of every operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A commit of the log, and the operation that sent it."""

    place: int  # among all commits of the log
    commit: Commit
    sent: Op | None  # by a client: the write of this value, to any resource, or the fence with this token
    near: Op | None = None  # if unmatched: a write that fits, if possible the one before it in the log

    @property
    def fits(self) -> bool:
        """Did a client send it to this resource, with this token?"""
        sent, commit = self.sent, self.commit
        return sent is not None and (sent.resource, sent.token) == (commit.resource, commit.token)

    @property
    def was_sent_elsewhere(self) -> bool:
        """Did a client send it to another resource?"""
        return self.sent is not None and self.sent.resource != self.commit.resource

    @property
    def accused(self) -> Op:
        """The write as it was sent, or an unrecorded one if no client sent the value."""
        return self.op if self.sent is None else self.sent

    @property
    def token(self) -> int | None:
        """The stored token; if the write lost its token on the way, the token that it was sent with."""
        if self.commit.token is None and self.sent is not None and not self.was_sent_elsewhere:
            return self.sent.token
        return self.commit.token

    @property
    def op(self) -> Op:
        """The operation as it was stored: with the logged token, and possibly without a client."""
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
        """Is its time of sending unknown, because no client sent it to this resource?"""
        return self.sent is None or self.was_sent_elsewhere


def of_another_run(entry: Entry) -> HistoryError:
    """Return the error about a log that does not fit, from its first entry."""
    commit, write = entry.commit, entry.sent
    value = f"value {as_recorded(commit.value)} was committed"
    others = "none that fits any other commit"
    if commit.fence:
        problem = f"a fence with token {commit.token} was committed, but the history has none of it"
    elif write is None:
        problem = f"{value}, but the history has no write of it"
    else:
        problem = f"{value} to {commit.resource} with token {commit.token}, but line {write.lines[0]} of the"
        problem += f" history wrote it to {write.resource} with token {write.token}"
        others = "no other commit fits"
    problem += f", and {others}; are these the commits of another run?"
    return HistoryError(commit.file, commit.line, problem)
