"""Sizes as campaign files write them: `"500MB"`, `"2GB"`."""

from __future__ import annotations

import re
from decimal import Decimal

BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE_PATTERN = r"^\s*(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)\s*$"


def shown_size(size: int) -> str:
    """Return a size as files write it, in whole megabytes, but at least one."""
    return f"{max(1, round(size / BYTES['MB']))}MB"


def parse_size(text: object) -> int:
    """Parse `"500MB"` to bytes. Raises ValueError with the allowed form."""
    found = re.match(SIZE_PATTERN, text) if isinstance(text, str) else None
    if found is None:
        raise ValueError('must be a size such as "500MB" or "2GB"')
    return round(Decimal(found[1]) * BYTES[found[2]])
