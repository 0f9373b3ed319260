"""MariaDB as the storage of a target file: one server, or three nodes of Galera."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from harness.network.topology import ServerSpec
from harness.spec.attached import numbered
from harness.spec.sides import StorageSide
from harness.spec.systems import OfMariadb
from workloads.settings import GaleraSettings, StorageSettings


class MariadbStorageSection(StorageSide, OfMariadb):
    """MariaDB: one row per resource, on one server or on three nodes of Galera."""

    kind: Literal["mariadb"]
    fencing: Literal["none", "conditional-update", "select-for-update", "upsert"]
    """How a stale write is refused; none: it is not."""
    nodes: Literal[1, 3] = 1
    """3: nodes of a Galera cluster, which all accept writes; 1: one server, without Galera."""
    round_robin: bool = False
    """With three nodes, each call goes to the next one, as through a load balancer; without it, only a call
    without an answer moves a client on."""
    wsrep_sync_wait: Annotated[int, Field(ge=0, le=7)] = 0
    """With three nodes, MariaDB's setting of that name: before which statements a node first applies what
    others have committed, as a sum: 1 reads, 2 UPDATE and DELETE, 4 INSERT. 0, MariaDB's default: none."""
    innodb_flush_log_at_trx_commit: Literal[0, 1, 2] = 1
    """With three nodes, MariaDB's setting of that name: 1, its default, flushes each commit to the disk; 0
    does so once a second, and 2 leaves it to the operating system."""

    @model_validator(mode="after")
    def _has_nodes_of_our_image(self) -> Self:
        for key in ("round_robin", "wsrep_sync_wait", "innodb_flush_log_at_trx_commit"):
            if key in self.model_fields_set and self.nodes == 1:
                raise ValueError(f"{key} is for several nodes of Galera: set nodes = 3, or remove it")
        if self.nodes > 1 and self.image:
            raise ValueError("nodes of Galera need Fencepost's own image of MariaDB: remove image")
        return self

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""
        return ("mariadb",) if self.nodes == 1 else numbered("galera", None, self.nodes)

    @property
    def changes_servers(self) -> bool:
        """Does each call go to the next server?"""
        return self.round_robin

    @property
    def writes_in_one_message(self) -> bool:
        """Does a write take one message, so that no stopped client can hold a transaction open?"""
        return self.fencing != "select-for-update"

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a node that flushes as chosen, or a server alone."""
        flushing = self.innodb_flush_log_at_trx_commit
        variables = {} if self.nodes == 1 else {"FENCEPOST_GALERA_FLUSHING": f"{flushing}"}
        return replace(super().started(server), durable=flushing == 1, variables=variables)

    def settings(self, **shared: Any) -> StorageSettings:
        """Return what a client gets."""
        if self.nodes == 1:
            return StorageSettings(**shared)
        return GaleraSettings(**shared, round_robin=self.round_robin, sync_wait=self.wsrep_sync_wait)
