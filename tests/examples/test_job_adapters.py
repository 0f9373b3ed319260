"""The adapters of `examples/jobs` follow the line protocol on real servers."""

from __future__ import annotations

import shutil

import pytest

from tests.support.command import fencepost, ran
from tests.support.missing import miss
from tests.support.repository import ROOT

NODE = ROOT / "examples/jobs/node"

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]  # npm may download libraries first


@pytest.mark.parametrize(("lock", "adapter"), [("redis", "bullmq.mjs"), ("postgres", "pg_boss.mjs")])
def test_an_adapter_in_node_follows_the_protocol(lock: str, adapter: str) -> None:
    if not shutil.which("npm"):
        miss("the adapters in Node need npm")
    installed = ran(["npm", "install", "--no-package-lock"], cwd=NODE, timeout=500)
    assert installed.returncode == 0, installed.stderr

    done = fencepost(
        NODE, "check-client", "--engine=local", "--side=queue", f"--lock={lock}", f"node {adapter}"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("everything fits\n")
