"""When a table that is kept as a whole is read again: Flink's ``lookup.full-cache.*``."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.connectors.tables.filesystem.layout.options import TableOptions

OPTIONS = (
    "lookup.cache",
    "lookup.full-cache.reload-strategy",
    "lookup.full-cache.periodic-reload.interval",
    "lookup.full-cache.periodic-reload.schedule-mode",
    "lookup.full-cache.timed-reload.iso-time",
    "lookup.full-cache.timed-reload.interval-in-days",
)
_INTERVAL, _MODE = OPTIONS[2:4]
_TIME, _DAYS = OPTIONS[4:]
_DAY = 24 * 3600.0


@dataclass(frozen=True)
class Reload:
    """
    :ivar interval: seconds; None: it is read once.
    :ivar fixed_rate: whether the interval counts from the begin of a reading, not from its end.
    :ivar at: the time of day of the first reading, for those by the clock.
    """

    interval: float | None = None
    fixed_rate: bool = False
    at: dt.time | None = None

    @staticmethod
    def of(options: TableOptions) -> Reload:
        """:raises TableException: for what cannot be."""
        given = options.given
        strategy = options.one_of("lookup.full-cache.reload-strategy", "periodic", ("periodic", "timed"))
        if strategy == "timed":
            if _TIME not in given:
                raise options.problem(_TIME, "is needed for the reload strategy TIMED")
            days = options.number(_DAYS)
            if days is not None and days < 1:
                raise options.problem(_DAYS, "is 1 or more")
            return Reload(_DAY * (days or 1), True, _time(given[_TIME], options))
        rate = options.one_of(_MODE, "fixed_delay", ("fixed_delay", "fixed_rate"))
        millis = options.millis(_INTERVAL, None)
        if millis is not None and millis <= 0:
            raise options.problem(_INTERVAL, "is more than 0")
        return Reload(None if millis is None else millis / 1000, rate == "fixed_rate")

    def wait(self, began: dt.datetime, ended: dt.datetime) -> float | None:
        """Seconds from the end of a reading to the next one, None for never.

        :param began: when the reading began, with a zone.
        """
        if self.interval is None:
            return None
        if self.at is None:
            passed = (ended - began).total_seconds() if self.fixed_rate else 0.0
            return max(0.0, self.interval - passed)
        zone = self.at.tzinfo
        first = dt.datetime.combine(began.astimezone(zone).date(), self.at, zone or began.astimezone().tzinfo)
        while first <= ended:
            first += dt.timedelta(seconds=self.interval if first > began else _DAY)
        return (first - ended).total_seconds()


def _time(text: str, options: TableOptions) -> dt.time:
    """``10:15`` in the zone of the machine, ``10:15Z``, ``10:15+07:00``."""
    try:
        return dt.time.fromisoformat(text.removesuffix("Z") + ("+00:00" if text.endswith("Z") else ""))
    except ValueError:
        raise options.problem(_TIME, "is a time of day, as in 10:15 or 10:15:30+01:00") from None
