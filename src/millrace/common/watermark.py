"""How watermarks come to be: generators, and what they write to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from millrace.common.constants import MIN_LONG_VALUE

__all__ = ["BoundedOutOfOrdernessWatermarks", "MonotonousTimestamps", "WatermarkGenerator", "WatermarkOutput"]


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks.

        >>> class ByMark(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         if event == "end":
        ...             output.mark_idle()
        ...     def on_periodic_emit(self, output):
        ...         pass
    """

    @abstractmethod
    def emit_watermark(self, timestamp_ms: int) -> None:
        """Declare that no element with a timestamp <= ``timestamp_ms`` follows; ends idleness."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Stop holding back the watermark downstream, until the next watermark or ``mark_active``."""

    @abstractmethod
    def mark_active(self) -> None:
        """Elements come again: watermarks wait for this source."""


class WatermarkGenerator(ABC):
    """Makes watermarks from the elements it sees; one instance per source split or subtask, pickled with its state.

    A generator with a method ``on_batch(timestamps: list[int]) -> None`` gets the timestamps of many elements at once
    in place of ``on_event``; it can then write watermarks in ``on_periodic_emit`` only.

        >>> class Behind(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         output.emit_watermark(Watermark(event_timestamp - 1000))
        ...     def on_periodic_emit(self, output):
        ...         pass
        >>> strategy = WatermarkStrategy.for_generator(Behind)
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for every element, with its timestamp in ms."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called after every chunk of elements, and at the end of every epoch."""


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """The greatest timestamp so far - ``max_out_of_orderness_ms`` - 1. Writes nothing before the first element.

        >>> isinstance(BoundedOutOfOrdernessWatermarks(5000), WatermarkGenerator)
        True
    """

    __slots__ = ("_delay", "_max_timestamp")

    def __init__(self, max_out_of_orderness_ms: int) -> None:
        """Raises ``ValueError`` for a negative bound."""
        if max_out_of_orderness_ms < 0:
            raise ValueError(f"max_out_of_orderness must not be negative, got {max_out_of_orderness_ms} ms")
        self._delay = max_out_of_orderness_ms + 1
        self._max_timestamp = MIN_LONG_VALUE

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp > self._max_timestamp:
            self._max_timestamp = event_timestamp

    def on_batch(self, timestamps: list[int]) -> None:
        """As ``on_event``, for the timestamps of a whole batch."""
        if timestamps:
            self._max_timestamp = max(self._max_timestamp, max(timestamps))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        # The subtraction must not pass the smallest long: then there is no watermark yet.
        if self._max_timestamp - self._delay >= MIN_LONG_VALUE:
            output.emit_watermark(self._max_timestamp - self._delay)


class MonotonousTimestamps(BoundedOutOfOrdernessWatermarks):
    """For ascending timestamps: the greatest one so far - 1.

        >>> isinstance(MonotonousTimestamps(), WatermarkGenerator)
        True
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)
