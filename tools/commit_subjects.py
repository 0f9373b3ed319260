"""The subjects of commits: at most 72 characters, and the part that changed first ("checkers: …").

`python -m tools.commit_subjects NEW [OLD...]` checks the commits that lead to NEW and to none of OLD,
except merges. An OLD that is empty or not in this clone is left out, such as the former end of a
branch that was pushed by force. If none is left, as for the first push of a repository, only NEW is
checked. Python alone runs this: CI has installed nothing else yet.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

LONGEST = 72
PART = r"[a-z][\w./-]*"
SUBJECT = re.compile(rf"{PART}(?:,? {PART}){{0,2}}: \S.*")
"""Such as "docs: …", "docs, schemas: …" and "pytest plugin: …"."""


def main(arguments: Sequence[str]) -> None:
    """Exit with the commits whose subjects are wrong, one a line, if there are any."""
    new, *old = arguments
    sys.exit("\n".join(wrong(new, old)) or None)


def wrong(new: str, old: Sequence[str]) -> Iterator[str]:
    """Describe what is wrong with the subjects of the commits that lead to `new` alone."""
    known = [commit for commit in old if _is_known(commit)]
    selected = [f"^{commit}" for commit in known] or ["--max-count=1"]
    for line in _git("log", "--no-merges", "--format=%h %s", *selected, new).stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > LONGEST:
            yield f"{commit} has a subject of {len(subject)} characters, of {LONGEST} at most: {subject}"
        if not SUBJECT.fullmatch(subject):
            yield f'{commit} does not start with the part that changed, such as "docs: ": {subject}'


def _is_known(commit: str) -> bool:
    return bool(commit) and _git("cat-file", "-e", f"{commit}^{{commit}}", check=False).returncode == 0


def _git(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=check)


if __name__ == "__main__":
    main(sys.argv[1:])
