"""What the terminal and the page show of recorded runs: every exhibit of the zoo, its twin, and others.

What is shown is compared for each run, the words for it in six samples. A golden file that has changed is
read before it is committed: `make golden` writes them.
"""

import pytest

from harness.campaign.canary import TWIN
from harness.report.lines import wrapped
from tests.support.golden_pages import PAGE_FACTS, SAMPLE_PAGES
from tests.support.golden_words import WRITE, changes, read_sections
from tests.support.page_facts import page_facts
from tests.support.page_samples import SAMPLES, sample
from tests.support.recorded_runs import recorded
from tests.support.reported_runs import reported

MOST_LINES = 14  # on a terminal of 100 columns, without those for what else was found
FACTS = read_sections(PAGE_FACTS)
WORDS = read_sections(SAMPLE_PAGES)
CASES = [pytest.param(name, marks=pytest.mark.nightly if name.endswith(TWIN) else []) for name in recorded()]


@pytest.mark.parametrize("name", CASES)
def test_the_page_of_a_recorded_run_shows_what_its_golden_facts_say(name: str) -> None:
    with reported(name) as run:
        facts = changes(FACTS.get(name, ()), page_facts(run))
        words = changes(WORDS.get(name, ()), sample(run)) if name in SAMPLES else ""
        leading = [*wrapped(line for line in run.terminal if not line.text.startswith("Also "))]

    assert len(leading) <= MOST_LINES, "\n".join(map(str, leading))
    assert not facts, f"what is shown of {name} has changed:\n{facts}\n{WRITE}"
    assert not words, f"the words about {name} have changed, what is shown has not:\n{words}\n{WRITE}"


def test_no_golden_section_is_left_of_a_run_that_has_gone() -> None:
    assert tuple(FACTS) == recorded()
    assert tuple(WORDS) == SAMPLES
