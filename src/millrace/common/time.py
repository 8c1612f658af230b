"""Spans of time and points in time."""

from __future__ import annotations

import datetime
import operator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Duration", "Instant", "Time", "to_millis"]

_NANOS_PER_MILLI = 1_000_000


@dataclass(frozen=True, repr=False)
class Duration:
    """A span of time, exact to the nanosecond. May be negative.

    >>> Duration.of_minutes(2).to_millis()
    120000
    """

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """A duration of ``days`` days of 24 hours."""
        return Duration.of_hours(days * 24)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """A duration of ``hours`` hours."""
        return Duration.of_minutes(hours * 60)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """A duration of ``minutes`` minutes."""
        return Duration.of_seconds(minutes * 60)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A duration of ``seconds`` seconds."""
        return Duration.of_millis(seconds * 1000)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A duration of ``millis`` milliseconds."""
        return Duration(operator.index(millis) * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A duration of ``nanos`` nanoseconds."""
        return Duration(operator.index(nanos))

    def to_millis(self) -> int:
        """The duration in whole milliseconds; the rest is cut off (towards zero)."""
        millis = abs(self.nanos) // _NANOS_PER_MILLI
        return millis if self.nanos >= 0 else -millis

    def __repr__(self) -> str:
        """The duration in ISO 8601, as in ``PT1H30M`` and ``PT1.5S``."""
        if self.nanos == 0:
            return "PT0S"
        sign = "-" if self.nanos < 0 else ""
        seconds, nanos = divmod(abs(self.nanos), 1_000_000_000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        text = "PT"
        if hours:
            text += f"{sign}{hours}H"
        if minutes:
            text += f"{sign}{minutes}M"
        if seconds or nanos:
            fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
            text += f"{sign}{seconds}{fraction}S"
        return text


@dataclass(frozen=True, repr=False)
class Instant:
    """A point in time: whole ``seconds`` since the epoch (rounded down) plus ``nanos`` (0 to 999,999,999).

    >>> Instant.of_epoch_milli(1500).to_epoch_milli()
    1500
    """

    seconds: int
    nanos: int

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant ``epoch_milli`` milliseconds after 1970-01-01 UTC."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Milliseconds since the epoch, rounded down."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """A span of time in whole milliseconds, as the window assigners take it.

    >>> Time.minutes(2).to_milliseconds()
    120000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = operator.index(milliseconds)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """A span of ``milliseconds`` milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """A span of ``seconds`` seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """A span of ``minutes`` minutes."""
        return Time.seconds(minutes * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """A span of ``hours`` hours."""
        return Time.minutes(hours * 60)

    @staticmethod
    def days(days: int) -> Time:
        """A span of ``days`` days of 24 hours."""
        return Time.hours(days * 24)

    def to_milliseconds(self) -> int:
        """The span in ms."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time({self._milliseconds} ms)"


TimeSpan: TypeAlias = Duration | Time | datetime.timedelta
"""The types that every parameter for a span of time accepts."""


def to_millis(span: TimeSpan) -> int:
    """A span of time in whole milliseconds, cut off towards zero; raises ``TypeError`` for anything else.

    >>> to_millis(Duration.of_seconds(2)), to_millis(Time.minutes(1))
    (2000, 60000)
    """
    if isinstance(span, Time):
        return span.to_milliseconds()
    if isinstance(span, Duration):
        return span.to_millis()
    if isinstance(span, datetime.timedelta):
        return Duration.of_nanos(span // datetime.timedelta(microseconds=1) * 1000).to_millis()
    raise TypeError(f"expected a Duration, a Time or a datetime.timedelta, got {type(span).__name__} {span!r}")
