"""The command lines of a cluster's processes."""

from __future__ import annotations

import sys

BEGAN = "millrace.cluster.began"
"""Key of a cluster's configuration: when it was started (ms since the epoch)."""


def command(role: str, folder: str) -> list[str]:
    """The command line of a process."""
    return [sys.executable, "-m", "millrace.cli.cluster.process", role, folder]
