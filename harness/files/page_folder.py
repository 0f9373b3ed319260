"""Pages in the user's cache folder, for run folders whose own page is a stranger's or could become one."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.core.errors import ConfigurationError
from harness.files.atomic_files import replace_file
from harness.files.cache_folder import cache_folder, unusable

MOST = 20
"""Pages that are kept; the oldest are removed."""


def keep_page(html: str) -> Path:
    """Write a page, and return its path; ConfigurationError if there is no folder for it."""
    folder = cache_folder() / "pages"
    if problem := unusable(folder):
        raise ConfigurationError(f"there is no folder for the page: {problem}")
    page = folder / f"{hashlib.sha256(html.encode(errors='replace')).hexdigest()}.html"
    replace_file(page, [html])
    pages = sorted(folder.glob("*.html"), key=lambda each: each.lstat().st_mtime_ns)
    for old in pages[:-MOST]:
        old.unlink(missing_ok=True)
    return page
