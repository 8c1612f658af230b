"""Arrays of marks beside rows that come one batch after the other: they grow by halves, not with each batch."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_room(marks: Any, length: int) -> Any:
    """The array, or a larger one that begins with it; what is new is 0."""
    if length <= len(marks):
        return marks
    found = np.zeros(max(length, len(marks) * 3 // 2), marks.dtype)
    found[: len(marks)] = marks
    return found
