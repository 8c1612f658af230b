"""Converts between instants and local times, in which the windows of tables are computed (both in ms).

Windows of a TIMESTAMP_LTZ are those of the session's time zone: a day begins at midnight there. So its instants are
converted to local times first, and the end of a window to an instant again where it is compared with watermarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.time_zones import standard_name, zone_of
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.columns.keys import Ids

_EPOCH = datetime(1970, 1, 1)
_LAST_YEAR = 250_000_000_000_000
"""ms; beyond this time zones are ignored, because ``datetime`` ends"""


@dataclass(frozen=True)
class WallClock:
    """Converts between instants and local times.

    :ivar zone: the zone; None for a time attribute without one (TIMESTAMP), which is used unchanged.
    """

    zone: str | None

    def times(self, column: pa.Array) -> Ids:
        """The local times (ms) of a time attribute without NULLs."""
        if self.shifts:
            column = pc.local_timestamp(column.cast(pa.timestamp("us", standard_name(self.zone or "UTC"))))
        return clock_times(column)

    def time(self, instant: int) -> int:
        """The local time (ms) of an instant (ms since the epoch)."""
        if not self.shifts:
            return instant
        there = datetime.fromtimestamp(instant / 1000, timezone.utc).astimezone(zone_of(self.zone or "UTC"))
        return instant + _millis(there.utcoffset())

    def instant(self, time: int) -> int:
        """The instant (ms since the epoch) of a local time; the later one if the clock shows it twice."""
        if not self.shifts or abs(time) >= _LAST_YEAR:
            return time
        shown = (_EPOCH + timedelta(milliseconds=time)).replace(tzinfo=zone_of(self.zone or "UTC"), fold=1)
        if shown.astimezone(timezone.utc).astimezone(shown.tzinfo).replace(tzinfo=None) != shown.replace(tzinfo=None):
            shown = shown.replace(fold=0)  # it is never shown: what was added to the clock comes later
        return time - _millis(shown.utcoffset())

    def instants(self, times: Ids) -> Ids:
        """As ``instant``, for many times."""
        if not self.shifts:
            return times
        distinct, places = np.unique(times, return_inverse=True)
        return np.array([self.instant(each) for each in distinct.tolist()], np.int64)[places]

    def column(self, times: Ids, like_attribute: bool) -> pa.Array:
        """Local times as a column: of the type of the time attribute, or of TIMESTAMP."""
        if like_attribute and self.zone is not None:
            return pa.array(self.instants(times) * 1000).view(pa.timestamp("us", "UTC"))
        return pa.array(times * 1000).view(pa.timestamp("us"))

    @property
    def shifts(self) -> bool:
        """Whether local time differs from UTC."""
        return self.zone is not None and self.zone != "UTC"


def _millis(offset: timedelta | None) -> int:
    assert offset is not None
    return round(offset.total_seconds() * 1000)


def has_passed(end: int, clock: WallClock, watermark: int) -> bool:
    """Whether a window has ended."""
    return watermark == MAX_WATERMARK or clock.instant(end) - 1 <= watermark


def passed(ends: Ids, clock: WallClock, watermark: int) -> Any:
    """As ``has_passed``, for many windows, as numpy Booleans."""
    return np.full(len(ends), True) if watermark == MAX_WATERMARK else clock.instants(ends) - 1 <= watermark


def clock_times(column: pa.Array) -> Ids:
    """A column of window_start or window_end as local times (ms)."""
    found: Ids = column.view(pa.int64()).to_numpy() // 1000
    return found
