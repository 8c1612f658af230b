"""What flows between operators: chunks of elements, watermarks and stream status."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

MIN_TIMESTAMP = -(2**63)
"""The watermark before the first one (ms), Flink's Long.MIN_VALUE."""
MAX_WATERMARK = 2**63 - 1
"""The watermark at the end of bounded input (ms), Flink's Long.MAX_VALUE."""


class Status(enum.Enum):
    """What a channel says about itself, besides watermarks.

        >>> Status.IDLE.name
        'IDLE'
    """

    IDLE = "IDLE"
    """takes no part in the minimum over channels until it is active again"""
    ACTIVE = "ACTIVE"
    FINISHED = "FINISHED"
    """bounded input has ended: nothing follows, ever"""


class LatencyMark(NamedTuple):
    """Goes with the elements from a source to the sinks, so that each operator sees how long that has taken."""

    source: int
    """id of the operator that sent it"""
    subtask: int
    at: int
    """when (ms)"""


class Chunk:
    """Many elements of one channel, in order.

    ``timestamps`` is None when no element has one, else a list of the same length (ms, None for an element without).
    ``keys`` is None on a stream that isn't keyed. The lists belong to the receiver and are never changed by the sender
    after it handed them over, so one chunk may go to several receivers.
    """

    __slots__ = ("keys", "timestamps", "values")

    def __init__(
        self, values: list[Any], timestamps: list[int | None] | None = None, keys: list[Any] | None = None
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Chunk(values={self.values!r}, timestamps={self.timestamps!r}, keys={self.keys!r})"
