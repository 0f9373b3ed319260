"""The questions of a card, and the answer to each from what the runs showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.card.plays import PLAYS, PlayResult
from harness.card.seen import Seen
from harness.card.series import EVERY, WITH_FAILOVER, Subject
from harness.card.words import Polarity, Word, polarity
from harness.core.duration import NS
from harness.report.sentences import count

MOST_REASONS = 1
_OF_TOKENS = frozenset({"duplicate-token", "token-regression"})
NO_MOMENT = "the program reports no moment between the grant and its token"
NOT_MADE = "no such run was made"
NOT_PLAYED = "it was not played"
NOT_ATOMIC = ", as far as its token is drawn with the grant"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """One cell of a card."""

    key: str
    question: str
    word: Word
    said: str  # what the runs showed, in a few words
    runs: tuple[Path, ...] = ()  # their folders

    @property
    def polarity(self) -> Polarity:
        """Is it good or bad?"""
        return polarity(self.key, self.word)


def answers(
    subject: Subject, seen: Sequence[Seen], played: Sequence[PlayResult] = ()
) -> tuple[AnsweredQuestion, ...]:
    """Answer every question; one whose runs failed or never got there is "not shown"."""
    of_runs = [
        AnsweredQuestion(
            key=key,
            question=question,
            word=word,
            said=said,
            runs=tuple(run.folder for run in used if run.folder is not None),
        )
        for key, question, answer in _QUESTIONS
        for used, word, said in (answer(subject, seen),)
    ]
    results = {each.key: each for each in played}
    of_plays = [
        AnsweredQuestion(
            key=key,
            question=_PLAYED[key],
            word=results[key].word if key in results else "not shown",
            said=results[key].said if key in results else NOT_PLAYED,
        )
        for key, _scene in PLAYS.values()
    ]
    return (*of_runs, *of_plays)


def is_answered(key: str, subject: Subject, seen: Sequence[Seen]) -> bool:
    """Do the runs answer a question?"""
    return any(answer.key == key and answer.word != "not shown" for answer in answers(subject, seen))


Found = tuple[Sequence[Seen], Word, str]


def _lost_while_paused(_: Subject, seen: Sequence[Seen]) -> Found:
    used = [run for run in _of(seen, "pause") if run.experiment.makes_stale_writes]
    accepted = _sum(used, "stale_writes_accepted")
    if accepted:
        return used, "yes", f"{accepted} stale writes got through without a fence"
    if others := _sum(used, "grants_to_others"):
        return used, "yes", f"{others} grants to others during pauses, no stale write"
    if _sum(used, "pauses"):
        return used, "no", f"nobody else was granted it in {_sum(used, 'pauses')} pauses"
    return used, "not shown", _why(used, "no holder was paused")


def _tells(_: Subject, seen: Sequence[Seen]) -> Found:
    released = [run for run in seen if run.releases_refused or run.releases_accepted]
    used = [run for run in released if _says_who_lost(run)]
    refused = sum(run.releases_refused for run in used)
    accepted = sum(run.releases_accepted for run in used)
    if not used:
        if released:
            return used, "not shown", "after early grants, it is open which holder had lost it"
        return used, "not shown", "no holder that had lost it released it" if seen else NOT_MADE
    if accepted:
        lost = f"{accepted} of {refused + accepted} releases of a lost lock ended ok"
        return used, "no", f"{lost}{_lines(used)}"
    return used, "yes", f"all {refused} releases of a lost lock were refused{_expired(seen)}"


def _says_who_lost(run: Seen) -> bool:
    """Is it certain which holder lost a lock? An early grant leaves it open."""
    return "early-grant" not in run.of_lock


def _lines(used: Sequence[Seen]) -> str:
    """The lines of a history that show a release of a lost lock that ended ok."""
    for run in used:
        if shown := run.accepted:
            grant, later, release = (each.lines[-1] for each in (shown.grant, shown.later, shown.release))
            return (
                f", such as in {run.experiment.name}: {shown.grant.owner} was granted {shown.grant.resource}"
                f" (line {grant}), then {shown.later.owner} was (line {later}), and the release of"
                f" {shown.grant.owner} ended ok (line {release})"
            )
    return ""


def _expired(seen: Sequence[Seen]) -> str:
    """Say how releases of expired locks ended if no other client took them: they may not be lost."""
    accepted = sum(run.expired_accepted for run in seen)
    of_all = accepted + sum(run.expired_refused for run in seen)
    return f"; {accepted} of {of_all} of an expired one that nobody else took ended ok" if accepted else ""


def _token(_: Subject, seen: Sequence[Seen]) -> Found:
    used = _of(seen, "calm") or seen
    having = sum(run.grants_with_token for run in used)
    lacking = sum(run.grants_without_token for run in used)
    if having:
        return used, "yes", f"in {having} of {having + lacking} grants{_doubt(used)}"
    if lacking:
        return used, "none", f"in none of {lacking} grants"
    return used, "not shown", _why(used, "it was never granted")


def _rising(_: Subject, seen: Sequence[Seen]) -> Found:
    used = [
        run
        for run in seen
        if run.experiment.kind in {"calm", "pause"} and run.experiment.at not in {"granted", EVERY}
    ]
    wrong = {name: times for name, times in _total(run.of_lock for run in used).items() if name in _OF_TOKENS}
    return _sound(used, wrong, having=lambda run: run.grants_with_token, nothing="no token was given")


def _atomic(_: Subject, seen: Sequence[Seen]) -> Found:
    used = [run for run in _of(seen, "pause") if run.experiment.at == "granted"]
    if used and not _sum(used, "pauses"):
        return used, "not shown", _why(used, NO_MOMENT)
    wrong = _total(run.of_lock for run in used)
    return _sound(used, wrong, having=lambda run: run.grants_with_token, nothing="no token was given")


def _failover(subject: Subject, seen: Sequence[Seen]) -> Found:
    used = _of(seen, "failover")
    if subject.lock not in WITH_FAILOVER:
        return used, "none", "the lock service has no failover here"
    return _survived(used, seen)


def _hands_over(_: Subject, seen: Sequence[Seen]) -> Found:
    used = _of(seen, "stop")
    found = _total(run.of_lock for run in used)
    if wrong := {name: times for name, times in found.items() if name not in _OF_TOKENS}:
        return used, "no", _named(wrong)
    kept = sum(run.kept_back for run in used)
    given_back = [waited for run in used for waited in run.given_back]
    if kept:
        stopped = count(kept + len(given_back), "stopped holder")
        return used, "no", f"{kept} of {stopped} did not give the lock back"
    if in_vain := sum(run.in_vain for run in used):
        said = f"{in_vain} of {count(len(given_back), 'released lock')} of stopped holders"
        return used, "no", f"{said} stayed taken until the lease ended, while another client waited"
    if waits := [waited for waited in given_back if waited is not None]:
        given = f"{count(len(waits), 'stopped holder')} gave the lock back"
        return used, "yes", f"{given}; it was granted again within {-(-max(waits) // NS['ms'])} ms"
    nothing = "no lock of a stopped holder was granted again before its lease ended"
    return used, "not shown", _why(used, nothing)


def _fence(subject: Subject, seen: Sequence[Seen]) -> Found:
    used = [run for run in _of(seen, "pause") if run.experiment.fenced]
    if not subject.gives_token:
        return used, "none", "without a token no storage can refuse a stale write"
    at = f"{subject.fencing} on {subject.storage}"
    if bad := _total(run.anomalies for run in used):
        return used, "no", f"{at}: {_named(bad)}"
    refused = _sum(used, "stale_writes_rejected")
    if refused:
        drawn_with_grant = "" if _atomic(subject, seen)[1] == "yes" else NOT_ATOMIC
        return used, "yes", f"{at} refused all {refused} stale writes{drawn_with_grant}{_doubt(used)}"
    return used, "not shown", _why(used, f"{at} met no stale write")


_QUESTIONS: tuple[tuple[str, str, Callable[[Subject, Sequence[Seen]], Found]], ...] = (
    ("lost_while_paused", "lost while paused?", _lost_while_paused),
    ("tells_its_holder", "tells its holder?", _tells),
    ("token", "token?", _token),
    ("strictly_rising", "strictly rising?", _rising),
    ("atomic_with_grant", "atomic with the grant?", _atomic),
    ("hands_over_in_order", "hands over in order?", _hands_over),
    ("survives_restart", "survives a restart?", lambda _, seen: _survived(_of(seen, "restart"), seen)),
    ("survives_failover", "survives a failover?", _failover),
    ("safe_with_fence", "safe with a fence?", _fence),
)


_PLAYED = {
    "renewed_while_held": "renewed while held?",
    "renewed_after_reentry": "renewed after it was taken twice?",
    "refuses_foreign_release": "refuses a foreign release?",
    "taken_again_silently": "taken again silently?",
    "first_come_first_served": "first come, first served?",
}
"""The questions that plays answer."""


def _of(seen: Iterable[Seen], kind: str) -> list[Seen]:
    return [run for run in seen if run.experiment.kind == kind]


def _sound(
    used: Sequence[Seen], wrong: Mapping[str, int], *, having: Callable[[Seen], int], nothing: str
) -> Found:
    """Did the lock service keep its promises in these runs, those that had what the question is about?"""
    if wrong:
        return used, "no", _named(wrong)
    if grants := sum(map(having, used)):
        return used, "yes", f"in {grants} grants"
    return used, "not shown", _why(used, nothing)


def _survived(used: Sequence[Seen], seen: Iterable[Seen]) -> Found:
    """Were locks that were held at the fault still held after it? Not every library's release tells."""
    if not used:
        return used, "not shown", NOT_MADE
    if bad := _total(run.of_lock for run in used):
        return used, "no", _named(bad)
    kept, gone = sum(run.kept for run in used), sum(run.gone for run in used)
    if gone:
        return used, "no", f"of {count(kept + gone, 'lock')} held then, {gone} could not be released"
    if any(run.releases_accepted and _says_who_lost(run) for run in seen):
        return used, "not shown", "the release of a lost lock ends ok, too"
    if kept and not any(run.releases_refused for run in seen):
        return used, "not shown", "no lost lock was released, so a release with ok proves nothing"
    if kept:
        return used, "yes", f"{count(kept, 'lock')} still held afterwards"
    return used, "not shown", _why(used, "no lock that was held then was released afterwards with ok")


def _sum(used: Iterable[Seen], name: str) -> int:
    return sum(run.coverage.get(name, 0) for run in used)


def _doubt(used: Iterable[Seen]) -> str:
    """What the tokens look like, if that is nothing that a fence can rely on."""
    looks_like = next((run.looks_like for run in used if run.looks_like), "")
    return f", but {looks_like.partition(',')[0]}" if looks_like else ""


def _total(found: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for each in found:
        total.update(each)
    return total


def _named(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ×{number}" for name, number in found.items())


def _why(used: Sequence[Seen], otherwise: str) -> str:
    failures = [run.failure for run in used if run.failure]
    return "; ".join(failures[:MOST_REASONS]) or (otherwise if used else NOT_MADE)
