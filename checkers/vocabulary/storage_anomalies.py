"""The table of the anomalies of storages, in the order of `anomalies`."""

from __future__ import annotations

from checkers.vocabulary.anomaly import Anomaly

STORAGE = (
    Anomaly(
        name="stale-write",
        area="storage",
        definition="A write with an older token took effect after a write with a newer one had.",
        label="STALE: older token accepted",
        once="the storage accepted a stale write",
        several="the storage accepted {count} stale writes",
        matters="A client that has lost its lock can overwrite what its successor wrote, unnoticed.",
        arises=(
            "A holder is stopped or cut off until its lease is over and another client has written;"
            " then its own write arrives, and nothing compares its token with the newer one."
        ),
        remedy=(
            "Compare the token in the same atomic step as the write, keep the highest one as durably as"
            " the data, and refuse every older one."
        ),
        counters=("stale_writes_attempted", "stale_writes_rejected", "stale_writes_accepted"),
    ),
    Anomaly(
        name="stale-read",
        area="storage",
        definition=(
            "A read returned a write although one with a newer token had been accepted before"
            " the read was called."
        ),
        label="old value read",
        once="a read returned outdated data",
        several="{count} reads returned outdated data",
        matters="A client acts on data that had been replaced before it asked.",
        arises="The read is answered by a cache or by a replica that lags behind.",
        remedy=(
            "Read from the primary or from a quorum, or let the server catch up before it answers, as"
            " with Galera's `wsrep_sync_wait`; never read from a cache that is not invalidated; or read in"
            " the same step as you write."
        ),
        counters=("found", "reads", "writes"),
    ),
    Anomaly(
        name="late-write",
        area="storage",
        definition="A superseded holder wrote before its successor did; no fence can detect that.",
        label="late write",
        once="a superseded holder wrote before its successor did",
        several="superseded holders wrote {count} times before their successors did",
        matters="The storage has not seen the newer token yet, so no fence can refuse such a write.",
        arises="A holder is stopped past its lease, and its write arrives before its successor's first.",
        remedy="Let a new holder raise the fence to its token before it reads (`fence_on_acquire`).",
        counters=("found", "late_writes_attempted", "pauses_past_lease"),
        violation=False,
    ),
    Anomaly(
        name="false-rejection",
        area="storage",
        definition=(
            "A write was refused as stale although no newer token (strict: nor an equal one) can have been"
            " accepted before the rejection returned."
        ),
        label="refused without a cause",
        once="the storage refused a rightful write as stale",
        several="the storage refused {count} rightful writes as stale",
        matters="The holder of the lock cannot do its work: the fence keeps out the wrong client.",
        arises="Tokens are compared wrongly: as text, for equality, or strictly where a holder writes twice.",
        remedy=(
            "Compare tokens as whole numbers, and decide whether one holder may write more than once"
            " (`token >= mark`) or not (`token > mark`)."
        ),
        counters=("found", "writes", "stale_writes_rejected"),
    ),
    Anomaly(
        name="phantom-accept",
        area="storage",
        definition="The storage acknowledged a write that it never stored.",
        label="acknowledged, never stored",
        once="a write was acknowledged and never stored",
        several="{count} writes were acknowledged and never stored",
        matters="The client continues as if its data were safe, but it was never stored.",
        arises="A statement matches no row, and nothing checks how many rows it changed.",
        remedy="Check how many rows a conditional update changed, and report 0 as a refusal.",
        counters=("found", "writes", "grants"),
    ),
    Anomaly(
        name="ghost-write",
        area="storage",
        definition="A write that was reported as failed took effect anyway.",
        label="reported as failed, yet stored",
        once="a write that was reported as failed took effect",
        several="{count} writes that were reported as failed took effect",
        matters="A caller that relies on the failure repeats the write or hands the work to another client.",
        arises="A timeout or a broken connection is taken for a failure, although the request had arrived.",
        remedy="Report a timeout and a broken connection as unknown, never as failed.",
        counters=("found", "writes", "partitions"),
    ),
    Anomaly(
        name="duplicate-write",
        area="storage",
        definition="One write took effect twice: something repeated it.",
        label="stored again",
        once="a write took effect twice",
        several="{count} writes took effect twice",
        matters="The second time can come late and overwrite what another client has written since.",
        arises="A driver, a proxy or a queue repeats a request that got no answer.",
        remedy="Turn off retries of writes, or make the storage refuse a request that it has already done.",
        counters=("found", "writes", "partitions"),
    ),
    Anomaly(
        name="lost-write",
        area="storage",
        definition="An acknowledged write disappeared for good, although nothing had replaced it.",
        label="acknowledged, then lost",
        once="an acknowledged write was lost",
        several="{count} acknowledged writes were lost",
        matters="The client believes that its data is safe, but it is gone.",
        arises="The storage acknowledges a write before it is on disk, or on the replica that takes over.",
        remedy=(
            "Acknowledge a write only when it is on disk, and on every replica that may be promoted"
            " (`synchronous_commit`, `appendfsync always`, `WAIT`), and stop the old primary before another"
            " takes over (STONITH)."
        ),
        counters=("found", "writes", "server_faults"),
    ),
    Anomaly(
        name="high-water-regression",
        area="storage",
        definition="The storage forgot the highest token it had accepted.",
        label="older token came back",
        once="the storage forgot the highest token that it had accepted",
        several="the storage forgot the highest token that it had accepted, {count} times",
        matters="Writers that had been shut out are let in again.",
        arises="The highest token is kept in memory, or less durably than the data.",
        remedy="Store the highest token in the same transaction as the data, and as durably.",
        counters=("found", "server_faults", "stale_writes_accepted"),
    ),
    Anomaly(
        name="unfenced-write",
        area="storage",
        definition="A storage that claims to be fenced accepted a write without a token.",
        label="accepted without a token",
        once="a fenced storage accepted a write without a token",
        several="a fenced storage accepted {count} writes without a token",
        matters="A client that sends no token gets past the fence, even long after it has lost the lock.",
        arises="A code path does not send the token, and the storage does not insist on one.",
        remedy="Refuse every write that carries no token.",
        counters=("found", "writes", "stale_writes_accepted"),
    ),
)
