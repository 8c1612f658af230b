"""``WatermarkStrategy``: how a stream gets timestamps and watermarks; with watermark generators and their output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.constants import MIN_LONG_VALUE
from millrace.common.time import Duration as Duration
from millrace.common.time import TimeSpan, to_millis

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "BoundedOutOfOrdernessWatermarks",
    "MonotonousTimestamps",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

# Generators


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


# Strategies

_DEFAULT_UPDATE_INTERVAL_MS = 1000


class TimestampAssigner(ABC):
    """Gives elements their event timestamp.

    >>> class Second(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value[1]
    >>> Second().extract_timestamp(("a", 1000), 0)
    1000
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp of an element, in ms since the epoch.

        ``record_timestamp`` is the one it has now, the smallest long when it has none.
        """


@dataclass(frozen=True)
class WatermarkAlignment:
    """Sources of one ``group`` wait for each other when their watermarks drift apart by more than ``max_drift_ms``.

    >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
    >>> aligned = strategy.with_watermark_alignment("group", Duration.of_seconds(30), Duration.of_seconds(1))
    """

    group: str
    max_drift_ms: int
    update_interval_ms: int


@dataclass(frozen=True)
class _BoundedOutOfOrderness:
    """A factory that pickles and compares by value, unlike a lambda."""

    max_out_of_orderness_ms: int

    def __call__(self) -> WatermarkGenerator:
        return BoundedOutOfOrdernessWatermarks(self.max_out_of_orderness_ms)


@dataclass(frozen=True, eq=False)
class WatermarkStrategy:
    """A timestamp assigner, a watermark generator, idleness and alignment; the ``with_`` methods return a new one.

    ``timestamp_assigner`` is None when the elements keep the timestamps of their source; ``idle_timeout_ms`` is None
    without idleness; ``alignment`` is None without alignment; ``max_jump_ms`` is None where time may jump at will.

        >>> class Second(TimestampAssigner):
        ...     def extract_timestamp(self, value, record_timestamp):
        ...         return value[1]
        >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        >>> strategy = strategy.with_timestamp_assigner(Second()).with_idleness(Duration.of_minutes(1))
        >>> timed = env.from_collection([("a", 1000)]).assign_timestamps_and_watermarks(strategy)
    """

    generator_factory: Callable[[], WatermarkGenerator] | None = None
    timestamp_assigner: TimestampAssigner | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None
    max_jump_ms: int | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """A strategy for timestamps that only ascend: the watermark is 1 ms behind the latest one."""
        return WatermarkStrategy(MonotonousTimestamps)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: TimeSpan) -> WatermarkStrategy:
        """A strategy for elements that are at most ``max_out_of_orderness`` late; raises ``ValueError`` if that is
        negative."""
        bound = to_millis(max_out_of_orderness)
        if bound < 0:
            raise ValueError(f"max_out_of_orderness must not be negative, got {bound} ms")
        return WatermarkStrategy(_BoundedOutOfOrderness(bound))

    @staticmethod
    def for_generator(factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """A strategy with generators of your own: ``factory`` makes one for each source split or subtask."""
        return WatermarkStrategy(factory)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """A strategy without watermarks, for processing time."""
        return WatermarkStrategy()

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        """This strategy with timestamps from the given assigner."""
        if not isinstance(timestamp_assigner, TimestampAssigner):
            raise TypeError(f"expected a TimestampAssigner, got {timestamp_assigner!r}")
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: TimeSpan) -> WatermarkStrategy:
        """This strategy, in which a split without elements for ``idle_timeout`` no longer holds the watermark back.

        Raises ``ValueError`` unless the timeout is at least 1 ms.
        """
        timeout = to_millis(idle_timeout)
        if timeout <= 0:
            raise ValueError(f"idle_timeout must be greater than zero, got {timeout} ms")
        return replace(self, idle_timeout_ms=timeout)

    def with_watermark_alignment(
        self, watermark_group: str, max_allowed_watermark_drift: TimeSpan, update_interval: TimeSpan | None = None
    ) -> WatermarkStrategy:
        """Pause splits that are ahead of their group by more than the allowed drift.

        ``update_interval`` is how often the group's watermarks are compared, 1 s by default.
        """
        interval = _DEFAULT_UPDATE_INTERVAL_MS if update_interval is None else to_millis(update_interval)
        alignment = WatermarkAlignment(watermark_group, to_millis(max_allowed_watermark_drift), interval)
        return replace(self, alignment=alignment)

    def with_max_jump(self, max_jump: TimeSpan) -> WatermarkStrategy:
        """Let the watermark not follow an element that is further ahead of all before it than ``max_jump``: one wrong
        clock would make all other elements late. Not in Flink.

        Such elements are passed on; they are counted (``numTimeJumpsIgnored``), and some are logged. After a hundred of
        them in a row the watermark follows.

            >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_max_jump(Duration.of_hours(1))
            >>> strategy.max_jump_ms
            3600000

        Raises ``ValueError`` unless it is at least 1 ms.
        """
        most = to_millis(max_jump)
        if most <= 0:
            raise ValueError(f"max_jump must be greater than zero, got {most} ms")
        return replace(self, max_jump_ms=most)

    def is_without_time(self) -> bool:
        """Whether elements get neither timestamps nor watermarks."""
        return self.generator_factory is None and self.timestamp_assigner is None and self.idle_timeout_ms is None

    def create_generator(self) -> WatermarkGenerator | None:
        """A new generator, None for a strategy without watermarks."""
        return None if self.generator_factory is None else self.generator_factory()


class AssignerWithPeriodicWatermarksWrapper(ABC):
    """Flink's former interface for timestamps and watermarks in one; subclass it to bring old assigners along.

    >>> sorted(AssignerWithPeriodicWatermarksWrapper.__abstractmethods__)
    ['extract_timestamp', 'get_current_watermark']
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp of an element, in ms since the epoch."""

    @abstractmethod
    def get_current_watermark(self) -> int | None:
        """The current watermark in ms, None for none; asked periodically.

        >>> class Behind(AssignerWithPeriodicWatermarksWrapper):
        ...     newest = 0
        ...     def extract_timestamp(self, element, record_timestamp):
        ...         self.newest = max(self.newest, element)
        ...         return element
        ...     def get_current_watermark(self):
        ...         return Watermark(self.newest - 1000)
        >>> Behind().get_current_watermark().timestamp
        -1000
        """
