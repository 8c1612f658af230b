"""The time zone of this machine."""

from __future__ import annotations

import os

__all__ = ["system_zone"]


def system_zone() -> str:
    """The name of the system's zone; UTC where it has none by name."""
    name = os.environ.get("TZ", "")
    link = "/etc/localtime"
    if not name and os.path.islink(link):
        name = os.path.realpath(link).partition("zoneinfo/")[2]
    return name or "UTC"
