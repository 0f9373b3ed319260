"""index.html: a night for people, in one file without scripts that needs no network."""

from harness.campaign.page.render import NAME, render

__all__ = ["NAME", "render"]
