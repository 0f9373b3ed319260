"""What is odd about a target that is valid: a green run would mean little, or others can read a password."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address

from harness.network.systems import SYSTEMS
from harness.spec.attached import MayRunAlready
from harness.spec.models import Target
from workloads.settings import host_and_port


def warnings(target: Target) -> Iterator[str]:
    """Say why a run of this target shows little about a fence."""
    if target.storage.fencing == "none" and not target.expected and not target.may:
        yield (
            'storage.fencing is "none" and the target expects "valid": nothing compares tokens, so a stale'
            ' write is accepted; give expect = ["stale-write"], or a fence'
        )
    if not target.faults:
        more = 'at = "before-write", lasts = "2 ttl"' if target.workload.is_of_jobs else 'hazards = "all"'
        yield (
            "there is no [[faults]]: nothing makes a write stale, so no fence is challenged; add"
            f' {{kind = "pause", target = "holder", {more}}}'
        )


def readable_passwords(target: Target) -> Iterator[str]:
    """Yield a sentence for each side that logs in without TLS to servers on other machines.

    A program or class of the user's with `endpoints` may speak TLS itself: nothing is known about that.
    """
    for side, spec in (("lock", target.lock), ("storage", target.storage)):
        if not isinstance(spec, MayRunAlready) or spec.ca_file or spec.shows_password is None:
            continue
        far = [at for at in spec.running or () if not _is_this_machine(at)]
        if far and (spec.password_env or spec.password_file):
            tls, tunnel = f"give {side}.ca_file if the servers speak TLS", "reach them through a tunnel"
            yield (
                f"{side}.servers: the password goes to {', '.join(far)} in plain text"
                f"{spec.shows_password}, and others on the network can read it: "
                f"{tls if SYSTEMS[spec.system].may_speak_tls else tunnel}"
            )


def _is_this_machine(at: str) -> bool:
    host = host_and_port(at)[0].strip("[]")
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified
