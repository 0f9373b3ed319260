"""How recorded runs are judged, and what the terminal and the page show: the zoo, its twins, and others.

What is shown is compared for each run, the words for it in six samples. A golden file that has changed is
read before it is committed: `make golden` writes them.
"""

import pytest

from checkers.vocabulary.document import VerdictDocument
from harness.campaign.canary import TWIN
from harness.cli.zoo_exhibits import Exhibit, exhibits
from harness.report.first_finding import fingerprint, first_causes
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


BUGS = {each.name: each for each in exhibits()}
SEVERAL = {
    "clock-an-hour-ahead": 2,  # early-grant, by its times and by its tokens
    "expiry-by-the-clients-clock": 2,  # early-grant, in two ways
    "code-path-without-the-token": 2,  # stale-write, unfenced-write
    "lease-that-is-never-renewed": 2,  # double-run: the second execution ended first, or last
    "missing-row-counted-as-success": 2,  # phantom-accept, of a writer that a pause made late or not
    "redlock-one-clock-jumped": 2,  # early-grant, while the clock jumped and later
    "replica-promoted-with-link-held": 2,  # duplicate-token, early-grant
}
"""How many shapes the findings of one run have that follow from no other one, where it is not one."""

ONLY_COUNTED = {"append-without-fence-on-acquire"}
"""Its anomaly makes no run invalid, so a failing run of it has no finding."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_recorded_run_is_judged_and_shown_as_its_golden_facts_say(name: str) -> None:
    with reported(name) as run:
        if name in BUGS:
            check_that_it_is_found(BUGS[name], run.recorded.verdict)
        facts = changes(FACTS.get(name, ()), page_facts(run))
        words = changes(WORDS.get(name, ()), sample(run)) if name in SAMPLES else ""
        leading = [*wrapped(line for line in run.terminal if not line.text.startswith("Also "))]

    assert len(leading) <= MOST_LINES, "\n".join(map(str, leading))
    assert not facts, f"what is shown of {name} has changed:\n{facts}\n{WRITE}"
    assert not words, f"the words about {name} have changed, what is shown has not:\n{words}\n{WRITE}"


def check_that_it_is_found(exhibit: Exhibit, document: VerdictDocument) -> None:
    """In at most two shapes: each finding that follows from no other may be all that another seed shows."""
    name, verdict = exhibit.name, document.as_dict()
    first = first_causes(verdict["findings"])
    shapes = {fingerprint(name, verdict | {"findings": [each]}) for each in first}

    assert document.as_expected, document.reasons
    assert all(document.anomalies[each] for each in exhibit.bug.expected)
    assert [each["anomaly"] for each in first[:1]] == [*exhibit.bug.expected] * (name not in ONLY_COUNTED)
    assert len(shapes) == (name not in ONLY_COUNTED) * SEVERAL.get(name, 1) <= 2
    assert not shapes or fingerprint(name, verdict) in shapes


def test_no_golden_section_is_left_of_a_run_that_has_gone() -> None:
    assert tuple(FACTS) == recorded()
    assert tuple(WORDS) == SAMPLES
