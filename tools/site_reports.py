"""A hook of MkDocs: a link to a recorded run leads to the report of that run, which this build draws.

On GitHub the same link leads to the recording. The recordings are those of the tests; the command
`fencepost recheck` judges and draws each one again, as a user would.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "tests/histories/zoo"
LINK = re.compile(r"(?<=\]\()(?:\.\./)+tests/histories/zoo/([\w.-]+)\.tar\.xz(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Draw the report of every recorded run that a page links."""
    for name in sorted(_linked(files)):
        files.append(File.generated(config, _place(name), content=report_of(name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - a hook of MkDocs
    """Lead each link to a recorded run to its report."""
    folder = posixpath.dirname(page.file.src_uri) or "."
    return LINK.sub(lambda link: posixpath.relpath(_place(link[1]), folder), markdown)


def report_of(name: str) -> str:
    """Judge a recorded run again in an empty folder, and return its report."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder, "runs")
        with tarfile.open(RECORDINGS / f"{name}.tar.xz") as archive:
            archive.extractall(runs, filter="data")
            run = Path("runs", archive.getnames()[0]).parent
        subprocess.run(
            [sys.executable, "-m", "harness.cli", "recheck", run],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        report = Path(folder, run, "report.html").read_text(encoding="utf-8")
        return report.replace(f"{folder}/", "")


def _linked(files: Files) -> Iterator[str]:
    for page in files.documentation_pages():
        for link in LINK.finditer(page.content_string):
            yield link[1]


def _place(name: str) -> str:
    """Return the path of a report on the site."""
    return f"real-reports/{name}.html"
