"""What random tests draw from: anew in each run, the same in each of CI's.

A gate that throws dice refuses a change for what another one did. New examples are looked for in runs by hand, by
``make random`` and by ``HYPOTHESIS_PROFILE=thorough``.
"""

from __future__ import annotations

import os
import random

IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")


def seed_of(variable: str) -> int:
    """The seed in an environment variable, or one of our own."""
    return int(os.environ.get(variable) or (1 if IN_CI else random.SystemRandom().getrandbits(32)))
