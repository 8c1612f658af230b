"""Reading the time and setting timers."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Clock and timers of the current key. All times are ms since the epoch.

    A timer is identified by key, time and clock: registering it twice makes it fire once. Timers can only be
    registered and deleted on a keyed stream.

        >>> class Later(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(5000)
        ...         ctx.timer_service().delete_event_time_timer(5000)
        ...         ctx.timer_service().register_event_time_timer(6000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield timestamp
        >>> list(env.from_collection(["a"]).key_by(lambda word: word).process(Later()).execute_and_collect())
        [6000]
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The wall clock of the task.

            >>> class Clock(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield ctx.timer_service().current_processing_time() > 0
            >>> list(env.from_collection(["a"]).process(Clock()).execute_and_collect())
            [True]
        """

    @abstractmethod
    def current_watermark(self) -> int:
        """The event time that the operator has reached; the smallest long before the first watermark.

            >>> class Marks(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield ctx.timer_service().current_watermark() < 0
            >>> list(env.from_collection(["a"]).process(Marks()).execute_and_collect())
            [True]
        """

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the wall clock reaches ``timestamp``; at once if it is past."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark reaches ``timestamp``; with the next watermark if it is past."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget this timer; nothing happens if it is not set."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget this timer; nothing happens if it is not set."""
