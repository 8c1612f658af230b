"""A script of the input of an operator under test, and its output.

A script's steps are independent of how an engine groups elements. Output records can be compared in assertions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from millrace.runtime.elements import Chunk, Status

__all__ = [
    "Element",
    "EndInput",
    "EpochEnd",
    "ProcessingTime",
    "SliceEnd",
    "StatusStep",
    "Step",
    "WatermarkStep",
    "steps",
]


class Record(NamedTuple):
    """An element, with its timestamp (ms) or None.

    >>> Record("a", 1000).timestamp
    1000
    """

    value: Any
    timestamp: int | None = None


class Watermark(NamedTuple):
    """A watermark (ms).

    >>> Watermark(1000)
    Watermark(timestamp=1000)
    """

    timestamp: int


Item = Record | Watermark | Status


class Captured:
    """The ``Output`` of the operator under test: collects everything in order."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.sides: dict[str, list[Record]] = {}

    def emit(self, chunk: Chunk) -> None:
        self.items.extend(records(chunk))

    def emit_side(self, tag: str, chunk: Chunk) -> None:
        self.sides.setdefault(tag, []).extend(records(chunk))

    def mark(self, mark: int | Status) -> None:
        self.items.append(mark if isinstance(mark, Status) else Watermark(mark))


def records(chunk: Chunk) -> list[Record]:
    """The elements of a chunk one by one."""
    if chunk.timestamps is None:
        return [Record(value) for value in chunk.values]
    return [Record(value, timestamp) for value, timestamp in zip(chunk.values, chunk.timestamps)]


class Element(NamedTuple):
    """An element arrives.

    >>> Element("a", timestamp=1000)
    Element(value='a', timestamp=1000, input=0)
    """

    value: Any
    timestamp: int | None = None
    input: int = 0


class WatermarkStep(NamedTuple):
    """A watermark (ms) arrives.

    >>> WatermarkStep(1000)
    WatermarkStep(timestamp=1000, input=0)
    """

    timestamp: int
    input: int = 0


class StatusStep(NamedTuple):
    """An input becomes idle or active.

    >>> StatusStep(Status.IDLE)
    StatusStep(status=<Status.IDLE: 'IDLE'>, input=0)
    """

    status: Status
    input: int = 0


class ProcessingTime(NamedTuple):
    """The clock (ms) moves on.

    >>> ProcessingTime(5000)
    ProcessingTime(now=5000)
    """

    now: int


class SliceEnd(NamedTuple):
    """A slice of an epoch ends here in every variant.

    >>> SliceEnd() == SliceEnd()
    True
    """


class EpochEnd(NamedTuple):
    """An epoch ends here in every variant.

    >>> EpochEnd() == EpochEnd()
    True
    """


class EndInput(NamedTuple):
    """Bounded input ends, with MAX_WATERMARK.

    >>> EndInput() == EndInput()
    True
    """


Step = Element | WatermarkStep | StatusStep | ProcessingTime | SliceEnd | EpochEnd | EndInput


def steps(values: Sequence[Any], watermark_lag: int | None = None) -> list[Step]:
    """A script of ``(value, timestamp)`` pairs and the end of the input; with ``watermark_lag`` (ms) a watermark
    follows each.

    >>> steps([("a", 1000)], watermark_lag=10)
    [Element(value='a', timestamp=1000, input=0), WatermarkStep(timestamp=990, input=0), EndInput()]
    """
    script: list[Step] = []
    for value, timestamp in values:
        script.append(Element(value, timestamp))
        if watermark_lag is not None:
            script.append(WatermarkStep(timestamp - watermark_lag))
    return [*script, EndInput()]
