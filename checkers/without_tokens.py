"""What a verdict says of a fence whose lock gave no fencing token."""

from __future__ import annotations

NO_TOKEN = "the lock gave no fencing token, so the fence could not be challenged"  # noqa: S105 - no password
USE_TOKENS = (
    'use a lock that gives one, or set storage.fencing and lock.token to "none" to see which writes come too'
    " late"
)
"""Why a fence was not tested that no fault could have tested, and what to do."""
