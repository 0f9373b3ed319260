"""A server that runs, but can never become usable."""

from __future__ import annotations


class Unfit(Exception):  # noqa: N818 - a property of the server, not an error of the program
    """The server runs, but can never become usable; the message says why."""
