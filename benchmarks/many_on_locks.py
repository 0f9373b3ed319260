"""Runs with many anomalies of a lock, or of lists that were changed under one."""

from __future__ import annotations

from benchmarks.kinds import LEASE, LEASED, UNFENCED, Kind, both
from benchmarks.scripted import STEP, Script

_LONG = 10_000 * STEP


def _same_token(run: Script) -> None:
    run.grant(run.number(), 1)


def _falling_token(run: Script) -> None:
    run.grant(0, 10_000_000 - run.number())


def _same_owner(run: Script) -> None:
    """One owner that acquires again and again with its token, and others with older ones."""
    run.grant(0, 1_000_000_000, owner="one")
    run.grant(1, run.number())


def _granted_early(run: Script) -> None:
    run.grant(0, run.number(), ttl=_LONG)
    run.grant(1, run.number(), ttl=_LONG)


def _granted_early_again(run: Script) -> None:
    """Grants to one owner whose lease is the longest of all, and to others."""
    run.grant(0, run.number(), owner="one", ttl=100_000 * _LONG)
    if run.operations == 1:
        run.grant(1, run.number(), ttl=_LONG)


def _both_believe(run: Script) -> None:
    run.grant(run.number(), run.number(), ttl=1)


def _both_hold(run: Script) -> None:
    run.grant(run.number(), run.number())


def _one_owner_believes(run: Script) -> None:
    owner = run.grant(0, run.number(), owner="one")
    call = run.call(1, "release", owner=owner)
    run.answer(call, "fail", error="no")


def _stuck(run: Script) -> None:
    owner = run.grant(0, run.number(), ttl=LEASE)
    run.do(0, "release", owner=owner)
    run.now += 2 * LEASE
    call = run.call(1, "acquire", owner=f"o{run.number()}")
    run.now += 4 * LEASE
    run.answer(call, "fail", error="held")


def _stuck_for_many(run: Script) -> None:
    """Several that wait for each other's locks at once."""
    calls = [run.call(process, "acquire", owner=f"o{run.number()}") for process in range(20)]
    run.now += 4 * LEASE
    for call in calls:
        run.answer(call, "fail", error="held")
    run.grant(0, run.number(), ttl=LEASE)
    run.now += 2 * LEASE


def _waiting(run: Script, operations: int) -> None:
    """All ask for the lock at once, and get it one after the other."""
    calls = [run.call(1_000 + each, "acquire", owner=f"w{each}") for each in range(operations // 2)]
    for number, call in enumerate(calls, start=1):
        sent = run.now
        run.answer(call, token=number, ttl=LEASE, attempt=sent)
        run.do(call.process, "release", owner=call.asked["owner"])


def _waiting_in_vain(run: Script, operations: int) -> None:
    calls = [run.call(1_000 + each, "acquire", owner=f"w{each}") for each in range(operations)]
    run.now += 100 * LEASE
    for call in calls:
        run.answer(call, "fail", error="held")


def _refused_in_turn(run: Script, operations: int) -> None:
    """Acquires without a gap, until the lock was free for almost two leases."""
    lease = 2 * operations * STEP
    run.do(0, "release", owner=run.grant(0, run.number(), ttl=lease))
    while run.operations < operations:
        _refused_at_once(run, 1 + run.operations % 3)


def _refused_at_once(run: Script, process: int) -> None:
    call = run.call(process, "acquire", owner=f"o{run.number()}")
    run.now += 4 * STEP
    run.answer(call, "fail", error="held")


def _waiting_through_all(run: Script, operations: int) -> None:
    """Many that wait while the lock is stuck again and again, and each time one more that asks for it."""
    calls = [run.call(1_000 + each, "acquire", owner=f"w{each}") for each in range(operations // 4)]
    while run.operations < operations:
        run.do(0, "release", owner=run.grant(0, run.number(), ttl=LEASE))
        run.now += 4 * LEASE
        _refused_at_once(run, 1)
    for call in calls:
        run.answer(call, "fail", error="held")


def _unknown_acquire(run: Script) -> None:
    process = 1_000 + run.number()
    run.answer(run.call(process, "acquire", owner=f"o{run.number()}", ttl=LEASE), "info")


def _unknown_renewal(run: Script) -> None:
    process = 1_000 + run.number()
    run.answer(run.call(process, "renew", owner="one", ttl=LEASE), "info")


def _one_holder(run: Script, _operations: int) -> None:
    run.grant(0, run.number(), owner="one", ttl=LEASE)


def _renewal(run: Script) -> None:
    run.do(0, "renew", owner="one", ttl=_LONG)


def _renewal_in_vain(run: Script) -> None:
    """A holder that renews, and others that are granted the lock, or wait for it."""
    run.do(0, "renew", {"ttl": _LONG}, owner="one", ttl=_LONG)
    run.grant(1, run.number(), ttl=LEASE)


def _reentered(run: Script) -> None:
    token = run.header["seed"]
    run.grant(0, token, owner="one", ttl=LEASE)
    run.do(0, "renew", {"ttl": LEASE}, owner="one", ttl=LEASE)


def _reentered_and_released(run: Script) -> None:
    run.grant(0, run.number(), owner="one", ttl=LEASE)
    process = 1_000 + run.number()
    run.answer(run.call(process, "renew", owner="one", ttl=LEASE), "info")
    run.do(0, "release", owner="one")


def _reentered_in_doubt(run: Script) -> None:
    """Acquires of one owner whose outcome is unknown, so that each renewal may be of any of them."""
    process = 1_000 + run.number()
    run.answer(run.call(process, "acquire", owner="one", ttl=_LONG), "info")
    run.grant(0, run.number(), owner="one", ttl=_LONG)
    run.do(0, "renew", {"ttl": _LONG}, owner="one", ttl=_LONG)


def _dropped(run: Script) -> None:
    """Each append drops what the one before had appended."""
    last = f"e{run.numbers}" if run.numbers else None
    element = f"e{run.number()}"
    call = run.call(0, "append", token=run.numbers, element=element)
    run.answer(call, read=[last] if last else [], written=[element])


def _dropped_by_unknown(run: Script) -> None:
    """The same, and no outcome is known but those of the reads."""
    last = f"e{run.numbers}" if run.numbers else None
    element = f"e{run.number()}"
    call = run.call(run.numbers, "append", token=run.numbers, element=element)
    run.answer(call, "info", read=[last] if last else [], written=[element])
    run.read(0, run.numbers, [element])


def _same_list(run: Script) -> None:
    element = f"e{run.number()}"
    run.answer(run.call(0, "append", token=run.numbers, element=element), read=[], written=[element])


def _dropped_in_order(run: Script) -> None:
    last = f"e{run.numbers}" if run.numbers else None
    element = f"e{run.number()}"
    call = run.call(0, "append", token=run.numbers, element=element)
    run.answer(call, read=[last] if last else [], written=[element])
    run.commit(run.numbers, [element])


def _list_of_few(run: Script) -> None:
    """A list on a resource of its own that grows, until one client forgets all."""
    resource = f"r{run.number()}"
    content: list[str] = []
    for token in range(1, 11):
        element = f"e{run.number()}"
        call = run.call(0, "append", resource=resource, token=token, element=element)
        run.answer(call, read=content, written=[*content, element])
        content = [*content, element]
    run.read(1, 1, content[:2], resource=resource)


def _never_appended(run: Script) -> None:
    element, resource = f"e{run.number()}", f"r{run.numbers}"
    call = run.call(0, "append", resource=resource, token=run.numbers, element=element)
    run.answer(call, read=[f"w{run.numbers}"], written=[f"w{run.numbers}", element])


def _refused_beside_a_favourite(run: Script) -> None:
    """One client gets the lock each time, and another one is refused as often."""
    owner = run.grant(0, run.number())
    run.do(0, "release", owner=owner)
    call = run.call(1, "acquire", owner=f"o{run.number()}")
    run.now += LEASE // 2
    run.answer(call, "fail", error="held")


ON_LOCKS = {
    "duplicate tokens": Kind(add=_same_token, finds="duplicate-token"),
    "token regressions": Kind(add=_falling_token, finds="token-regression"),
    "token regressions, beside one owner": Kind(add=_same_owner, finds="token-regression"),
    "early grants": Kind(add=_granted_early, finds="early-grant"),
    "early grants, beside one owner": Kind(add=_granted_early_again, finds="early-grant"),
    "double beliefs": Kind(add=_both_believe, finds="double-belief"),
    "double grants": Kind(add=_both_hold, finds="double-grant"),
    "double beliefs, of one owner": Kind(add=_one_owner_believes),
    "refusals beside a favourite": Kind(
        add=_refused_beside_a_favourite, finds="starvation", header={"grace": LEASE}
    ),
    "stuck locks": Kind(add=_stuck, finds="stuck-lock", header=LEASED),
    "stuck locks, many waiting": Kind(add=_stuck_for_many, finds="stuck-lock", header=LEASED),
    "waiting acquires": Kind(add=_granted_early, first=_waiting, header=LEASED),
    "waiting acquires, in vain": Kind(
        add=_granted_early, first=_waiting_in_vain, finds="stuck-lock", header=LEASED
    ),
    "waiting acquires, one after the other": Kind(
        add=_granted_early, first=_refused_in_turn, finds="stuck-lock", header={"grace": LEASE}
    ),
    "waiting acquires, none to spare": Kind(
        add=_granted_early, first=_refused_in_turn, finds="stuck-lock", header={"grace": 10 * STEP}
    ),
    "waiting acquires, through many stuck locks": Kind(
        add=_granted_early, first=_waiting_through_all, finds="stuck-lock", header=LEASED
    ),
    "unknown acquires": Kind(add=_unknown_acquire, header=LEASED),
    "unknown acquires, stuck locks": Kind(
        add=both(_unknown_acquire, _stuck), finds="stuck-lock", header=LEASED
    ),
    "unknown renewals": Kind(add=_unknown_renewal, first=_one_holder, header=LEASED),
    "unknown renewals, stuck locks": Kind(
        add=both(_unknown_renewal, _stuck), first=_one_holder, header=LEASED
    ),
    "renewals": Kind(add=_renewal, first=_one_holder, header=LEASED),
    "renewals, early grants": Kind(
        add=_renewal_in_vain, first=_one_holder, finds="early-grant", header=LEASED
    ),
    "re-entrant owner": Kind(add=_reentered, header=LEASED | {"seed": 1}),
    "re-entrant owner, early grants": Kind(
        add=both(_reentered_in_doubt, _granted_early), finds="early-grant", header=LEASED
    ),
    "re-entrant owner, stuck locks": Kind(add=both(_reentered_and_released, _stuck), header=LEASED),
    "lost updates": Kind(add=_dropped, finds="lost-update"),
    "lost updates, one list read by all": Kind(add=_same_list, finds="lost-update"),
    "lost updates, of unknown appends": Kind(add=_dropped_by_unknown, finds="lost-update", header=UNFENCED),
    "lost updates, by the order": Kind(add=_dropped_in_order, finds="lost-update"),
    "lost updates, many lists": Kind(add=_list_of_few, finds="lost-update"),
    "appends to nothing written": Kind(add=_never_appended, finds="non-linearizable"),
}
"""Runs by what there is much of."""
