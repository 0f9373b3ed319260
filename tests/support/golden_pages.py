"""The golden files about the terminal output and the pages of recorded runs.

    make golden        # or: .venv/bin/python -m tests.support.golden_pages [NAME...]

writes them. Read the difference before you commit it.

- `zoo/page-facts.txt`: what is shown about each run, without the words: see `page_facts`;
- `zoo/sample-pages.txt`: all words about six runs: see `page_samples`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from tests.support.golden_words import read_sections, write_sections
from tests.support.page_facts import page_facts
from tests.support.page_samples import SAMPLES, sample
from tests.support.recorded_runs import RECORDINGS, ROOT, recorded
from tests.support.reported_runs import reported

PAGE_FACTS = RECORDINGS / "page-facts.txt"
SAMPLE_PAGES = RECORDINGS / "sample-pages.txt"
_ABOUT_FACTS = (
    "What the terminal and the page of each recorded run show; operations and faults by their first line."
)
_ABOUT_SAMPLES = (
    "What the terminal and the page say of some recorded runs: findings with the same cause once."
)


def main(names: Iterable[str]) -> None:
    """Write the sections of the runs that are named, or all of them."""
    os.chdir(ROOT)
    facts, samples = read_sections(PAGE_FACTS), read_sections(SAMPLE_PAGES)
    for name in names or recorded():
        with reported(name) as run:
            facts[name] = page_facts(run)
            if name in SAMPLES:
                samples[name] = sample(run)
        sys.stdout.write(f"{name}\n")
    write_sections(PAGE_FACTS, _ABOUT_FACTS, {name: facts.get(name, []) for name in recorded()})
    write_sections(SAMPLE_PAGES, _ABOUT_SAMPLES, {name: samples.get(name, []) for name in SAMPLES})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    main(parser.parse_args().names)
