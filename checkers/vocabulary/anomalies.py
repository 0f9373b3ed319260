"""The table of anomalies, with what a report says about each. A new one needs one entry.

The order of `ANOMALIES` matters: one event is one finding, under the first name that fits.
"""

from __future__ import annotations

from checkers.vocabulary.anomaly import Anomaly
from checkers.vocabulary.storage_anomalies import STORAGE

_COUNT_GRANTS = (
    "Take the token from a counter that grows with every grant and survives restarts and failovers:"
    " a revision, a zxid, a persisted sequence."
)

_TABLE = (
    *STORAGE,
    Anomaly(
        name="duplicate-token",
        area="lock",
        definition="The lock service gave the same token to two different owners.",
        label="same token as another",
        once="the lock service gave the same token to two owners",
        several="the lock service gave out a token again {count} times",
        matters="No storage can tell the writes of two holders apart if their tokens are equal.",
        arises="The counter restarts after a crash, a failover or a deletion, or counts something else.",
        remedy=_COUNT_GRANTS,
        counters=("found", "grants", "server_faults"),
    ),
    Anomaly(
        name="token-regression",
        area="lock",
        definition="A later grant got a token that is not above an earlier one's.",
        label="token not above the last",
        once="a later grant got a token that is not higher",
        several="{count} later grants got a token that is not higher",
        matters="The fence takes the new holder for an old one and refuses it, or lets the old one in.",
        arises="The token does not count grants: it is random, a clock, an id, or a counter that restarts.",
        remedy=_COUNT_GRANTS,
        counters=("found", "grants", "server_faults"),
    ),
    Anomaly(
        name="early-grant",
        area="lock",
        definition="The lock was granted to one client while another's lease was still promised.",
        label="granted too early",
        once="the lock was given away while another's lease was still promised",
        several="the lock was given away {count} times while another's lease was still promised",
        matters="Two clients hold the lock at once, or their tokens are not in the order of their grants.",
        arises=(
            "The lock is released by a client that does not hold it, forgotten by a server, or timed by a"
            " clock that jumped; or the token is drawn in a separate step, after the grant."
        ),
        remedy=(
            "Release a lock only if it is still your own, in one atomic step; keep it until its lease is"
            " over, also through restarts and failovers; draw its token in the same step as the grant."
        ),
        counters=("found", "grants", "server_faults"),
    ),
    Anomaly(
        name="double-grant",
        area="lock",
        definition="Two clients held the lock at once, and nothing that was recorded explains it.",
        label="granted to a second client",
        once="the lock was held by two clients at once, without a promised lease",
        several="the lock was held by two clients at once {count} times, without a promised lease",
        matters=(
            "Either the lock lets two clients in, or a session ended and nobody recorded it: the run cannot"
            " tell."
        ),
        arises="A lock that is bound to a session or a connection is given away while its holder is well.",
        remedy=(
            "Let the client report its renewals, or the end of its session as a release: then a second holder"
            " is either explained or an early-grant."
        ),
        counters=("found", "grants", "grants_to_others"),
        violation=False,
    ),
    Anomaly(
        name="double-belief",
        area="lock",
        definition="Two clients believed at the same time that they held the lock.",
        label="two believed they held the lock",
        once="two clients believed at once that they held the lock",
        several="two clients believed at once that they held the lock, {count} times",
        matters="No lease can prevent it: only a fence keeps the first of them from doing harm.",
        arises="A holder is stopped past its lease and does not know that another client got the lock.",
        remedy="Send the token with every write, and let the storage refuse older ones.",
        counters=("found", "pauses_past_lease", "grants_to_others"),
        violation=False,
    ),
    Anomaly(
        name="stuck-lock",
        area="lock",
        definition="The lock was free and the service healthy, but a waiting client did not get it.",
        label="waited in vain",
        once="the lock was free, but a waiting client did not get it",
        several="the lock was free, but waiting clients did not get it, {count} times",
        matters="Work stops until somebody removes the lock by hand.",
        arises="A lock without an expiry is left behind by a client that died.",
        remedy="Give every lock an expiry in the same step that takes it, and keep it on every change.",
        counters=("found", "grants", "kills"),
    ),
    Anomaly(
        name="starvation",
        area="lock",
        definition="A client was refused the lock for long although nobody held it.",
        label="refused again and again",
        once="a client was refused the lock for long although nobody held it",
        several="{count} clients were refused the lock for long although nobody held it",
        matters="The lock is not shared: those clients get nothing done, and no error says so.",
        arises=(
            "A lock that belongs to a session is unlocked on another pooled connection, so the session keeps"
            " it, and its client gets it again."
        ),
        remedy="Take and release the lock on one connection, and let waiting clients queue.",
        counters=("found", "grants", "pauses"),
        violation=False,
    ),
    Anomaly(
        name="double-run",
        area="lock",
        definition=(
            "A job that must run once ran twice at once, or again after its end had been acknowledged."
        ),
        label="ran twice",
        once="a job ran twice",
        several="jobs ran twice, {count} times",
        matters="What the job does happens twice: a payment, a mail, a report that overwrites another.",
        arises=(
            "A worker is stopped or cut off until its lease on the job is over, the queue gives the job to"
            " another worker, and the first one continues; or the queue forgets what it acknowledged."
        ),
        remedy=(
            "Make the job idempotent, and fence its result by the number of the attempt: store it only if"
            " no later attempt has stored one."
        ),
        counters=("found", "executions", "executions_past_lease"),
    ),
    Anomaly(
        name="lost-run",
        area="lock",
        definition="A job that was accepted and due never began, although a worker was idle.",
        label="never began",
        once="a job was accepted and never began",
        several="{count} jobs were accepted and never began",
        matters="Work that was promised is never done, and no error says so.",
        arises=(
            "The queue loses the job in a restart or a failover, or gives it to a worker that is gone and"
            " never to another one."
        ),
        remedy=(
            "Acknowledge a job only once it is stored durably, and give it to another worker when"
            " its lease is over."
        ),
        counters=("found", "jobs_submitted", "executions"),
    ),
    Anomaly(
        name="lost-update",
        area="both",
        definition="An element that was appended under the lock is missing from a later list.",
        label="update lost",
        once="an update was lost",
        several="{count} updates were lost",
        matters="Two clients changed the same data, and what one of them had added is gone.",
        arises=(
            "A list is read and written back; an older holder's write arrives between a new holder's"
            " read and its write."
        ),
        remedy=(
            "Raise the fence to the new token before you read (`fence_on_acquire`), or write back only"
            " what has not changed since you read it."
        ),
        counters=("found", "appends", "pauses_past_lease"),
    ),
    Anomaly(
        name="non-linearizable",
        area="both",
        definition="No order of the operations explains the answers that the clients got.",
        label="contradicts the rest",
        once="an answer that no order of the operations explains",
        several="{count} answers that no order of the operations explains",
        matters="The storage shows different clients different pasts, so nothing built on it can be trusted.",
        arises="One step passes the fence and another one writes, or a value that was replaced comes back.",
        remedy="Check the token and set the value in one atomic step, and answer reads from the same place.",
        counters=("found", "reads", "writes"),
    ),
)

ANOMALIES = {anomaly.name: anomaly for anomaly in _TABLE}
"""Every anomaly by its name."""

ROOTS = ("double-run", "unfenced-write", "duplicate-token", "token-regression")
"""The root causes among the names, which come first: a write without a token is always stale, too."""

RANK = {name: rank for rank, name in enumerate(dict.fromkeys((*ROOTS, *ANOMALIES)))}
"""The place of each name among the names of one event: the roots first, then the order of the table."""

DOUBTS = ("double-grant",)
"""The names that leave a run without a violation undecided."""

WORTH_SAYING = ("starvation",)
"""The names that decide no verdict and that a report still explains."""

VIOLATIONS = frozenset(anomaly.name for anomaly in _TABLE if anomaly.violation)
"""The names that make a run invalid; the others are only counted."""
