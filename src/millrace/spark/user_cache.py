"""Where Millrace keeps what is expensive to make, for this user and all later runs."""

from __future__ import annotations

import os


def user_cache(*names: str) -> str:
    """A path in the user's cache directory; nothing is made there."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "millrace", *names)
