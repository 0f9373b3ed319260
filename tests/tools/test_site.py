"""The documentation site: it builds strictly, loads nothing from elsewhere, and shows what GitHub shows."""

from __future__ import annotations

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Browser

from tests.support.command import ran
from tests.support.repository import ROOT
from tools.site_pages import ROOT_PAGES, repository

pytestmark = pytest.mark.slow  # they build the site

PAGES = [*map(ROOT.joinpath, ROOT_PAGES), *sorted((ROOT / "docs").rglob("*.md"))]
SHAPES = ("h2", "h3", "li", "table", "tr", "td", "pre", "img")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    done = ran(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return folder


SHOWN = re.compile(r'\ssrc(?:set)?="([^":]+\.png)"')
SCROLLING = """() => [...document.querySelectorAll("article pre, article pre > code")]
    .filter((block) => block.scrollWidth > block.clientWidth).map((block) => block.innerText)"""
WIDTH = 1000  # px, as of a small laptop's window
NARROW = 84  # characters that fit into it


@pytest.mark.nightly
def test_no_code_scrolls_sideways_in_a_small_window(site: Path, browser: Browser) -> None:
    window = browser.new_page(viewport={"width": WIDTH, "height": 900}, java_script_enabled=False)

    scrolling: dict[str, list[str]] = {}
    for page in PAGES:
        window.goto(place_of(site, page).as_uri())
        scrolling[page.name] = window.evaluate(SCROLLING)
    assert {page: blocks for page, blocks in scrolling.items() if blocks} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_drawing_of_characters_is_narrow_enough_not_to_wrap(page: Path) -> None:
    blocks = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    drawings = [block.content for block in blocks if block.type == "fence" and "|--" in block.content]
    lines = [line for drawing in drawings for line in drawing.splitlines()]

    assert [line for line in lines if len(line) > NARROW] == []


def html_of(site: Path, page: Path) -> str:
    return place_of(site, page).read_text(encoding="utf-8")


def place_of(site: Path, page: Path) -> Path:
    """The page of the site: README.md is its first, and an index.md that of its folder."""
    place = page.relative_to(ROOT / "docs" if (ROOT / "docs") in page.parents else ROOT).with_suffix("")
    folder = place.parent if place.name in {"README", "index"} else place
    return site / folder / "index.html"


OURS = re.compile(
    r"`((?:benchmarks|checkers|compose|docs|examples|fencepost|fuzzing|harness|schemas|targets|tests|tools|workloads)"
    r"/[\w./-]+)`"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_path_that_a_page_names_exists(page: Path) -> None:
    named = OURS.findall(page.read_text(encoding="utf-8").partition("\n## 0.")[0])

    assert [path for path in named if not (ROOT / path).exists()] == []


class Loads(HTMLParser):
    """Collects the addresses that a browser loads when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get("href") if tag == "link" and given.get("rel") != "canonical" else given.get("src")
        if address:
            self.found.append(address)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_loads_nothing_from_another_host(site: Path, page: Path) -> None:
    loads = Loads()

    loads.feed(html_of(site, page))

    assert loads.found
    assert not [address for address in loads.found if "//" in address]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_the_lists_tables_and_code_that_github_shows(site: Path, page: Path) -> None:
    html = html_of(site, page)
    article = html[html.index("<article") : html.index("</article>")]
    on_github = MarkdownIt("gfm-like", {"linkify": False}).render(page.read_text(encoding="utf-8"))

    counts = {tag: len(re.findall(f"<{tag}[ >]", article)) for tag in SHAPES}

    assert counts == {tag: len(re.findall(f"<{tag}[ >]", on_github)) for tag in SHAPES}


def test_a_link_to_a_file_of_the_repository_leads_there(site: Path) -> None:
    shipped, own_class = (
        html_of(site, ROOT / f"docs/targets/{page}.md") for page in ("shipped", "own-class")
    )

    assert f'href="{repository()}/blob/main/targets/etcd-postgres.toml"' in shipped
    assert f'href="{repository()}/tree/main/examples/own-class"' in own_class


@pytest.mark.parametrize(
    ("run", "said"), [("etcd-postgres-unfenced", "stale-write"), ("etcd-postgres", "The fence held")]
)
def test_a_link_to_a_recorded_run_leads_to_its_report(site: Path, run: str, said: str) -> None:
    linked = html_of(site, ROOT / "docs/real-reports.md")
    report = (site / f"real-reports/{run}.html").read_text(encoding="utf-8")

    assert f'href="{run}.html"' in linked
    assert said in report
    assert f"fencepost recheck runs/{run}/" in report


def test_a_page_shows_its_pictures_in_both_color_schemes(site: Path) -> None:
    shown: set[str] = set()
    for page in PAGES:
        for address in SHOWN.findall(html_of(site, page)):
            file = (place_of(site, page).parent / address).resolve()
            assert file.is_file(), f"{page.name} shows {address}"
            shown.add(file.name)

    assert shown == {file.name for file in (ROOT / "docs/pictures").iterdir()}


def test_the_header_names_the_repository(site: Path) -> None:
    html = html_of(site, ROOT / "README.md")
    named = re.findall(r'md-source__repository">\s*(\S+)\s*<', html)

    assert set(named) == {repository().partition("github.com/")[2]}


@pytest.mark.parametrize("found", ["real-reports", "known-bugs", "libraries"])
def test_what_was_found_is_one_click_from_the_home_page(site: Path, found: str) -> None:
    assert f'href="{found}/"' in html_of(site, ROOT / "README.md")


def test_a_link_to_a_page_stays_on_the_site(site: Path) -> None:
    assert 'href="targets/shipped/"' in html_of(site, ROOT / "README.md")


def test_a_link_to_nothing_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/broken.md").write_text("[gone](../harness/gone.py)\n")
    configuration = {
        "site_name": "broken",
        "theme": {"name": "material", "font": False},
        "hooks": [str(ROOT / "tools/site_pages.py")],
        "markdown_extensions": ["toc"],
    }
    (tmp_path / "mkdocs.yml").write_text(str(configuration).replace("False", "false"))

    done = ran([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=tmp_path)

    assert done.returncode != 0
    assert "broken.md links to harness/gone.py, which does not exist" in done.stderr
