"""``pyflink.pyflink_gateway_server``: what of it needs no server."""

from __future__ import annotations

import sys

__all__ = ["on_windows"]


def on_windows() -> bool:
    """Whether this is Windows, or Python for Cygwin."""
    return sys.platform.startswith(("win", "cygwin"))
