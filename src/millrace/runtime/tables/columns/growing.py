"""Arrays of marks next to rows that come in batches: they grow by halves, not with each batch."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_room(marks: Any, length: int) -> Any:
    """The array, or a larger one that begins with it; new elements are 0."""
    if length <= len(marks):
        return marks
    found = np.zeros(max(length, len(marks) * 3 // 2), marks.dtype)
    found[: len(marks)] = marks
    return found
