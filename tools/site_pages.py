"""A hook of MkDocs: the pages of the repository's root join those of docs/.

Pages link to one another as files of the repository, so that the links work on GitHub.
On the site, a link to a page or a picture leads there, and a link to any other file or folder
to the repository, whose address is in pyproject.toml. A link to nothing fails the strict build.
"""

from __future__ import annotations

import logging
import posixpath
import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[1]
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
FENCED = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
PICTURE = re.compile(r'(?<=\ssrc=")[^":]+(?=")|(?<=\ssrcset=")[^":]+(?=")')

log = logging.getLogger("mkdocs.hooks.site_pages")


def repository() -> str:
    """Return the address of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str = project["urls"]["Repository"]
    return address


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the repository's address from pyproject.toml, and name headings as GitHub does."""
    config.repo_url = repository()
    config.repo_name = urlsplit(config.repo_url).path.strip("/")
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite each link that leaves the folder of its page to its target on the site."""
    source = page.file.src_uri
    folder = "" if source in ROOT_PAGES else posixpath.join("docs", posixpath.dirname(source))
    pages = {posixpath.join("" if name in ROOT_PAGES else "docs", name): name for name in files.src_uris}

    def lead(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link["path"]))
        anchor = link["anchor"] or ""
        if target in pages:
            return posixpath.relpath(pages[target], posixpath.dirname(source) or ".") + anchor
        if not (ROOT / target).exists():
            log.warning("%s links to %s, which does not exist", source, target)
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{config.repo_url}/{kind}/main/{target}{anchor}"

    def show(picture: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, picture[0]))
        if target not in pages:
            log.warning("%s shows %s, which is not below docs/", source, target)
            return picture[0]
        file = files.get_file_from_path(pages[target])
        return file.url_relative_to(page.file) if file else picture[0]

    pieces = FENCED.split(markdown)
    pieces[::2] = (PICTURE.sub(show, LINK.sub(lead, prose)) for prose in pieces[::2])
    return "".join(pieces)
