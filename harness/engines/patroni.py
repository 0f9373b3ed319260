"""PostgreSQL servers that Patroni runs, over the etcd of the lock service."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.network import patroni_server
from harness.network.systems import SYSTEMS
from harness.network.topology import Address, ServerSpec

# s; the shortest that Patroni takes (class Config, method _validate_and_adjust_timeouts): it replaces
# a leader that is silent for the TTL.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 1, 9
POSTGRES, ETCD = SYSTEMS["postgres"].port, SYSTEMS["etcd"].port
LOGIN = {"username": "fencepost"}
PARAMETERS = {"max_connections": 200, "recovery_init_sync_method": "syncfs"}  # see compose/postgres.yaml


def services(
    primary: ServerSpec, standby: ServerSpec, link: Address, etcd: Sequence[str]
) -> Mapping[str, Mapping[str, Any]]:
    """Return what the override file adds to both services.

    `link` is where the standby reaches the primary; `etcd` are the names of etcd's members.
    """
    replica = Address(standby.name, POSTGRES)
    started = {
        primary: (f"http://{etcd[0]}:{ETCD}/health", link, "data"),
        standby: (f"http://{primary.name}:{patroni_server.PORT}/primary", replica, "standby"),
    }
    return {
        spec.name: {
            "command": ["sh", "/patroni.sh", url],
            "environment": {
                "PATRONI_CONFIGURATION": json.dumps(
                    _configuration(spec.name, at, folder, etcd, synchronous=primary.synchronous)
                )
            },
            "ports": [f"127.0.0.1::{patroni_server.PORT}"],
        }
        for spec, (url, at, folder) in started.items()
    }


def _configuration(
    name: str, at: Address, folder: str, etcd: Sequence[str], *, synchronous: bool
) -> Mapping[str, Any]:
    """Return Patroni's settings for one server, which the other reaches `at` an address."""
    return {
        "name": name,
        "scope": "fencepost",
        "etcd3": {"hosts": [f"{member}:{ETCD}" for member in etcd]},
        "restapi": {
            "listen": f"0.0.0.0:{patroni_server.PORT}",
            "connect_address": f"{name}:{patroni_server.PORT}",
        },
        "bootstrap": {
            "dcs": {
                "ttl": TTL,
                "loop_wait": LOOP_WAIT,
                "retry_timeout": RETRY_TIMEOUT,
                "synchronous_mode": synchronous,
                "postgresql": {"use_pg_rewind": True, "parameters": PARAMETERS},
            }
        },
        "postgresql": {
            "listen": f"0.0.0.0:{POSTGRES}",
            "connect_address": str(at),
            "data_dir": f"/var/lib/postgresql/{folder}",
            "authentication": {"superuser": LOGIN, "replication": LOGIN},
            "basebackup": [{"checkpoint": "fast"}, "no-sync"],
        },
    }
