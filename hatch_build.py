"""The README that package indexes show: what it links is in the repository, at the tag of the version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r'(\]\(|\b(?:href|src|srcset)=")(?![a-z]+:|#)([^)"\s]+)')
PICTURES = (".png", ".svg")


class Readme(MetadataHookInterface):
    """Gives the package its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Lead each relative link of README.md to the repository."""
        repository, tag = metadata["urls"]["Repository"], f"v{metadata['version']}"

        def lead(link: re.Match[str]) -> str:
            kind = "raw" if link[2].endswith(PICTURES) else "blob"
            return f"{link[1]}{repository}/{kind}/{tag}/{link[2]}"

        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": RELATIVE.sub(lead, text)}
