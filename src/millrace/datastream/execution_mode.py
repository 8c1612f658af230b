"""``RuntimeExecutionMode``: whether a program runs as a stream or as a batch."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """How a DataStream program is executed.

    >>> _ = env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    >>> words = env.from_collection(["a", "a"]).key_by(lambda word: word)
    >>> list(words.reduce(lambda x, y: x + y).execute_and_collect())
    ['aa']
    """

    STREAMING = 0
    """Results are updated as elements arrive, checkpoints are taken; for bounded and unbounded sources."""

    BATCH = 1
    """Only bounded sources; a keyed operator emits final results."""

    AUTOMATIC = 2
    """``BATCH`` if every source is bounded, else ``STREAMING``."""
