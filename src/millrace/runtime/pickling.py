"""Pickles whatever a program passes around: plain pickle where it can, by value where it must.

Plain pickle finds classes by name. That fails in a worker for classes of the user's main module or of a function's
body; cloudpickle then writes the class itself, which is slower but always works. ``pickle.loads`` reads both.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from millrace.util.by_value import pickled_by_value


def dumps(value: Any) -> bytes:
    """``value`` as bytes. Raises what cloudpickle raises for values that can't be pickled at all."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return pickled_by_value(value)


def first_unpicklable(values: Iterable[Any]) -> Any:
    """The first value that ``dumps`` refuses, for an error that names it; there must be one."""
    return next(value for value in values if not _can_be_pickled(value))


def _can_be_pickled(value: Any) -> bool:
    try:
        dumps(value)
    except Exception:
        return False
    return True
