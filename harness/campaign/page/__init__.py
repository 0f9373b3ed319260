"""index.html: a night as a page, in one file without scripts that needs no network."""

from harness.campaign.page.page import NAME, render

__all__ = ["NAME", "render"]
