"""``CheckpointingMode``: how consistent the state is after a recovery."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """The guarantee that checkpoints give.

    In Millrace a checkpoint lies between two epochs, so state is exactly-once in either mode; the mode decides what
    sinks promise and whether unaligned checkpoints may be asked for.

        >>> env.enable_checkpointing(10_000, CheckpointingMode.AT_LEAST_ONCE).get_checkpointing_mode()
        <CheckpointingMode.AT_LEAST_ONCE: 1>
    """

    EXACTLY_ONCE = 0
    """After a recovery each element counts once in the state."""

    AT_LEAST_ONCE = 1
    """After a recovery an element may count more than once."""
