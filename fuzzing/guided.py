"""The readers under Atheris, guided by code coverage: `python -m fuzzing.guided READER`.

A reader may raise only its documented errors. Atheris keeps failing input with the findings,
and exits with a code other than 0. If it is not installed, `missing` says so.
"""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

READERS = ("target", "setting", "history", "foreign", "line", "reply")
_MOST = 1 << 16  # bytes of an input
_LONGEST, _MOST_MEMORY = 5, 1024  # s, MiB


def missing() -> str | None:
    """Say why guided fuzzing is not possible here; None if it is."""
    if importlib.util.find_spec("atheris"):
        return None
    return "Atheris is not installed: its wheels are only for Linux on x86-64"


def fuzz(reader: str, seconds: float, keep: Path) -> bool:
    """Fuzz a reader in a separate process; return whether it passed."""
    keep.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(
        [sys.executable, "-m", __spec__.name, reader, str(max(1, round(seconds))), str(keep)], check=False
    )
    return ended.returncode == 0


def _readers() -> Mapping[str, Callable[[bytes], None]]:
    """Return the readers, as functions of some bytes."""
    import atheris

    with atheris.instrument_imports(include=["checkers", "harness.spec", "workloads"]):
        import harness.spec
        from checkers import formats
        from checkers.history.reader import parse
        from checkers.text.errors import FencepostError
        from checkers.verdict.judge import judge
        from fuzzing.surfaces import ROOT
        from workloads.client import NotApplied, Unknown
        from workloads.http_connection import Reply
        from workloads.http_contract import Acknowledgement
        from workloads.line_protocol import messages

    folder = Path(tempfile.mkdtemp())
    shipped = ROOT / "targets" / "etcd-postgres.toml"

    def target(data: bytes) -> None:
        (folder / "t.toml").write_bytes(data)
        harness.spec.load(folder / "t.toml")

    def setting(data: bytes) -> None:
        harness.spec.load(shipped, [data.decode(errors="replace")])

    def history(data: bytes) -> None:
        judge(parse(data.splitlines(keepends=True)))

    def foreign(data: bytes) -> None:
        (folder / "history").write_bytes(data)
        formats.operations(formats.read(folder / "history"), "cas-register")

    def line(data: bytes) -> None:
        _, carried = messages.parse_line(data)
        messages.convert_fields(messages.RenewedEvent, carried)

    def reply(data: bytes) -> None:
        Reply(200, data).read_as(Acknowledgement)

    def documented(read: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def one(data: bytes) -> None:
            with contextlib.suppress(FencepostError, NotApplied, Unknown):
                read(data)

        return one

    each = (target, setting, history, foreign, line, reply)
    return {name: documented(read) for name, read in zip(READERS, each, strict=True)}


def _seeds(reader: str) -> Iterator[bytes]:
    from fuzzing.surfaces import SURFACES

    surfaces = {"line": "line-protocol", "reply": "http"}
    for files in SURFACES[surfaces.get(reader, reader)].seeds():
        content = next(iter(files.values()))
        yield from content.splitlines() if reader in {"line", "setting"} else [content]


def main() -> None:
    """Fuzz one reader until its time is over."""
    import atheris

    reader, seconds, keep = sys.argv[1:]
    one = _readers()[reader]
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(_seeds(reader)):
            (Path(corpus) / str(number)).write_bytes(seed[:_MOST])
        atheris.Setup(
            [
                sys.argv[0],
                corpus,
                f"-max_total_time={seconds}",
                f"-timeout={_LONGEST}",
                f"-rss_limit_mb={_MOST_MEMORY}",
                f"-max_len={_MOST}",
                f"-artifact_prefix={keep}/{reader}-",
                "-print_final_stats=1",
                "-verbosity=0",
            ],
            one,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
