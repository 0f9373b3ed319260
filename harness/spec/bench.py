"""The section [bench]: what `fencepost bench` must measure."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from harness.core.fields import STRICT, Duration

Rate = Annotated[float, Field(gt=0, le=1e9)]
"""A number a second."""


class BenchSpec(BaseModel):
    """What `fencepost bench` must measure; a run ignores it."""

    model_config = STRICT

    acquire_rate: Rate | None = None
    """The least number of acquisitions a second, each followed by its release, without contention."""
    acquire_p99: Duration | None = None
    """The longest that 99 of 100 acquisitions may take: at acquire_rate if that is given, otherwise with 8
    clients that do not wait for one another."""
    write_rate: Rate | None = None
    """The least number of fenced writes a second, each to a resource of its own."""
    write_p99: Duration | None = None
    """The longest that 99 of 100 fenced writes may take, with 8 clients that each write a resource."""
    fence_overhead: Duration | None = None
    """The longest that the fence may add to a write, on average."""
