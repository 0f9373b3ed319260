"""Attacks on what Fencepost writes, and on where it writes, with data that a stranger has made.

payloads   hostile texts: lines, commands, links and characters that must not come through
words      the texts of a stranger by their names
runs, nights, subjects
           small run folders, shards, results and corpora, with a word for every text of a stranger
outputs    the commands that read them, and everything that they print and write
inert      what no output may contain, by its kind; pages and markdown have a file of their own
shells     the commands that outputs tell a reader to copy, pasted into real shells
text       hostile text × every word × every output
surprises  links, pipes, devices and other surprises in the place of files
box        a place for one attack, compared before and after it
folders    surprises and paths × every command that reads what a stranger handed over
"""

from __future__ import annotations

from fuzzing.hostile import folders, text
from fuzzing.hostile.attack import Attack, Case

__all__ = ["ATTACKS", "Attack", "Case"]

ATTACKS: dict[str, Attack] = {"hostile-text": text.ATTACK, "hostile-folders": folders.ATTACK}
"""The attacks by name, for `python -m fuzzing NAME`."""
