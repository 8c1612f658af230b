"""Process-wide defaults for new environments: what ``millrace run`` was told on its command line."""

from __future__ import annotations

from millrace.common.configuration import Configuration

_defaults = Configuration()


def set_defaults(configuration: Configuration) -> None:
    """Replace the defaults; environments made from now on begin with them."""
    global _defaults
    _defaults = Configuration(configuration)


def get_defaults() -> Configuration:
    """A copy of the defaults."""
    return Configuration(_defaults)
