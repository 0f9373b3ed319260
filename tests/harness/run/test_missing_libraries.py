"""A target that needs a library that is not installed."""

from __future__ import annotations

import pytest

from harness.core.errors import ConfigurationError
from harness.run import deployment
from tests.support.target_files import read, target_text

MARIADB = target_text(storage='kind = "mariadb"\nfencing = "upsert"')
NATS = target_text(lock='kind = "nats"')


@pytest.mark.parametrize(
    ("text", "module", "remedy"),
    [
        (MARIADB, "pymysql", r"^storage: mariadb needs PyMySQL: pip install '\.\[mariadb\]'"),
        (NATS, "nats", r"^lock: nats needs nats-py: pip install '\.\[nats\]'"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    text: str, module: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "find_spec", lambda name: None if name == module else object())

    with pytest.raises(ConfigurationError, match=remedy):
        deployment.check(read(text))


def test_a_library_that_nothing_uses_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "find_spec", lambda _name: None)

    assert list(deployment.missing_here(read(target_text()))) == []
