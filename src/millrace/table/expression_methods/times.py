"""Dates, times, spans of time."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from millrace.graph.origin import user_origin
from millrace.relational.types import DateType, DayTimeIntervalType, TimestampType, TimeType, YearMonthIntervalType
from millrace.table.expression_methods.base import _Handle, built_in
from millrace.table.expression_methods.units import TimeIntervalUnit
from millrace.table.sql import nodes
from millrace.util.exceptions import TableException

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression

MONTHS = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH, 2, False)
MILLIS = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, 2, 3, False)


class _Span(property):
    """A property that makes a span of time of a constant number."""

    def __init__(self, unit: str, months: int = 0, millis: int = 0) -> None:
        super().__init__(lambda handle: _span(handle, unit, months, millis), doc=f"A span of this many {unit}s.")

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: object, owner: type | None = None
        ) -> Expression[Any]: ...


def _span(handle: _Handle, unit: str, months: int, millis: int) -> Expression[Any]:
    node = handle._node
    number = node.value if isinstance(node, nodes.Constant) else None
    if not isinstance(number, (int, float, Decimal)) or isinstance(number, bool):
        raise TableException(
            f"{user_origin()}: a span of {unit}s is made of a constant number, as in lit(5).{unit}s, not of {handle}"
        )
    if months:
        return handle._new(nodes.Constant(int(number * months), MONTHS))
    return handle._new(nodes.Constant(datetime.timedelta(milliseconds=float(number * millis)), MILLIS))


class _Times(_Handle):
    year = years = _Span("year", months=12)
    quarter = quarters = _Span("quarter", months=3)
    month = months = _Span("month", months=1)
    week = weeks = _Span("week", millis=7 * 86_400_000)
    day = days = _Span("day", millis=86_400_000)
    hour = hours = _Span("hour", millis=3_600_000)
    minute = minutes = _Span("minute", millis=60_000)
    second = seconds = _Span("second", millis=1_000)
    milli = millis = _Span("milli", millis=1)

    @property
    def to_date(self) -> Expression[Any]:
        """Text as a DATE."""
        return self._new(nodes.Cast(self._node, nodes.TypeName(DateType())))

    @property
    def to_time(self) -> Expression[Any]:
        """Text as a TIME."""
        return self._new(nodes.Cast(self._node, nodes.TypeName(TimeType(0))))

    @property
    def to_timestamp(self) -> Expression[Any]:
        """Text as a TIMESTAMP(3)."""
        return self._new(nodes.Cast(self._node, nodes.TypeName(TimestampType(3))))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[Any]:
        """One part of a point in time, as a number."""
        return self._new(built_in("EXTRACT", "extract", nodes.Var(time_interval_unit.name), self._node))

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The largest whole number, or beginning of a unit of time, that is not greater."""
        return self._rounded("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The smallest whole number, or beginning of a unit of time, that is not less."""
        return self._rounded("CEIL", time_interval_unit)

    def _rounded(self, function: str, unit: TimeIntervalUnit | None) -> Expression[Any]:
        return self._apply(function, function.lower(), *([] if unit is None else [nodes.Var(unit.name)]))

    @property
    def start(self) -> Expression[Any]:
        """The beginning of a window, by its alias."""
        return self._new(nodes.WindowProperty(self._node, "START"))

    @property
    def end(self) -> Expression[Any]:
        """The end of a window, which does not belong to it."""
        return self._new(nodes.WindowProperty(self._node, "END"))

    @property
    def rowtime(self) -> Expression[Any]:
        """The event time attribute of a window, or this column as one."""
        return self._new(nodes.WindowProperty(self._node, "ROWTIME"))

    @property
    def proctime(self) -> Expression[Any]:
        """The processing time attribute of a window, or this column as one."""
        return self._new(nodes.WindowProperty(self._node, "PROCTIME"))
