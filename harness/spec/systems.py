"""What the sections of one system are alike in, as a lock service and as a storage."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from harness.network.topology import ServerSpec
from harness.spec.attached import MayRunAlready
from harness.spec.fields import EtcdRelease, Image


class OfEtcd(MayRunAlready):
    """Servers of etcd."""

    system: ClassVar[str] = "etcd"

    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as quay.io/coreos/etcd:v3.6.4."""
    version: EtcdRelease | None = None
    """A release to build from its source instead of running Debian's, such as 3.6.7."""

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a server of the chosen release."""
        return replace(super().started(server), release=self.version or "")


class OfRedis(MayRunAlready):
    """Servers of Redis."""

    system: ClassVar[str] = "redis"
    default_user: ClassVar[str] = "default"

    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as redis:8."""


class OfZookeeper(MayRunAlready):
    """Servers of ZooKeeper."""

    system: ClassVar[str] = "zookeeper"

    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as zookeeper:3.9."""
