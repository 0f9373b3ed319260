"""What the sections of one system are alike in, as a lock service and as a storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from harness.engines.built_images import OURS
from harness.network.topology import ServerSpec
from harness.spec.attached import MayRunAlready
from harness.spec.fields import EtcdRelease, Image, NatsRelease, Url, VersitygwRelease, endpoint
from harness.spec.sides import Side
from workloads.settings import BucketName


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
    flavour: Literal["redis", "valkey"] = "redis"
    """What the servers are: Redis, or Valkey, which answers the same commands."""

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a server of the chosen flavour."""
        ours = None if self.flavour == "redis" else f"{OURS}{self.flavour}"
        return replace(super().started(server), image=self.image or ours)


class OfMariadb(MayRunAlready):
    """A server of MariaDB."""

    system: ClassVar[str] = "mariadb"
    most_running: ClassVar[int] = 1
    needs_user: ClassVar[bool] = True
    may_trust_user: ClassVar[bool] = True  # without a password
    shows_password: ClassVar[str] = ", if the server asks for it so"  # noqa: S105 - by default, it asks for proof

    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as mariadb:11.8."""


class OfZookeeper(MayRunAlready):
    """Servers of ZooKeeper."""

    system: ClassVar[str] = "zookeeper"

    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as zookeeper:3.9."""


class OfS3(MayRunAlready):
    """A server of S3, with one bucket."""

    system: ClassVar[str] = "s3"
    most_running: ClassVar[int] = 1
    shows_password: ClassVar[None] = None  # its requests carry a signature

    image: Image | None = None
    """An image to run instead of Fencepost's own, on port 9000, with a bucket "fencepost"."""
    version: VersitygwRelease | None = None
    """A release of versitygw, which stores files, to build and run instead of gofakes3, such as 1.8.0."""
    bucket: Annotated[str, Field(min_length=1)] | None = None
    """The bucket to use on a server that already runs."""
    region: Annotated[str, Field(min_length=1)] | None = None
    """The region that requests to a server that already runs are signed for; without it, us-east-1."""

    @model_validator(mode="after")
    def _has_a_bucket(self) -> Self:
        if self.running and not self.bucket:
            raise ValueError("servers that already run need the bucket to use: give bucket")
        return self

    @property
    def where(self) -> BucketName:
        """Where clients find the bucket."""
        if not self.running or not self.bucket:
            return BucketName()
        region = self.region or BucketName().region
        return BucketName(name=self.bucket, region=region, host=self.running[0], is_ours=False)

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return versitygw of the chosen release, or gofakes3, which keeps everything in memory."""
        return replace(super().started(server), release=self.version or "", durable=self.version is not None)


class OfNats(MayRunAlready):
    """Servers of NATS with JetStream."""

    system: ClassVar[str] = "nats"
    image: ClassVar[None] = None

    version: NatsRelease = "2.15.2"
    """The release to build from its source."""

    def started(self, server: ServerSpec) -> ServerSpec:
        """Return a server of the chosen release."""
        return replace(super().started(server), release=self.version)


class OfHttp(Side):
    """A running service of the user's, which implements the contract of docs/http.md."""

    system: ClassVar[str] = ""
    servers: ClassVar[tuple[str, ...]] = ()
    has_servers: ClassVar[bool] = False
    image: ClassVar[None] = None

    url: Url
    """Where it listens, such as http://127.0.0.1:8420."""

    def endpoints(self, servers: Iterable[str], folder: Path) -> tuple[str, ...]:  # noqa: ARG002 - as its base
        """Return where it listens."""
        return (endpoint(self.url),)
