"""Passwords that others can read on their way: those sent without TLS to another machine."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

from harness.spec.attached import MayRunAlready
from workloads.settings import host_and_port

if TYPE_CHECKING:
    from harness.spec.models import Target


def readable_passwords(target: Target) -> Iterator[str]:
    """Yield a sentence for each side that logs in without TLS to servers on other machines.

    A program or class of the user's with `endpoints` may speak TLS itself: nothing is known about that.
    """
    for side, spec in (("lock", target.lock), ("storage", target.storage)):
        if not isinstance(spec, MayRunAlready) or spec.ca_file or spec.shows_password is None:
            continue
        far = [at for at in spec.running or () if not _is_this_machine(at)]
        if far and (spec.password_env or spec.password_file):
            yield (
                f"{side}.servers: the password goes to {', '.join(far)} in plain text"
                f"{spec.shows_password}, and others on the network can read it: "
                f"give {side}.ca_file if the servers speak TLS"
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
