"""Values and columns between instants and local times."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.zones import standard_name, zone_of

EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def micros_of(moment: datetime) -> int:
    """Microseconds since the epoch, of an instant or of a local time."""
    return (moment - (EPOCH if moment.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND


def local_of(micros: int, zone: tzinfo) -> datetime:
    """What clocks in the zone show at an instant, without tzinfo."""
    return (_EPOCH_UTC + timedelta(microseconds=micros)).astimezone(zone).replace(tzinfo=None)


def instant_of(local: datetime, zone: tzinfo, *, later: bool = False) -> int:
    """The instant at which clocks in the zone show a time, in microseconds. A time that is skipped in spring counts as
    if the clocks had not been put forward; of one that occurs twice in autumn the first is taken (as ``java.time``
    does), or with ``later`` the second (as ``java.util.Calendar`` does)."""
    shown = local.replace(tzinfo=zone, fold=0)
    if later:
        second = shown.replace(fold=1)
        first_offset, second_offset = shown.utcoffset(), second.utcoffset()
        assert first_offset is not None and second_offset is not None
        if second_offset < first_offset:
            shown = second
    offset = shown.utcoffset()
    assert offset is not None
    return (local - EPOCH - offset) // _MICROSECOND


def local_times(column: Any, zone: str) -> Any:
    """TIMESTAMP_LTZ values as TIMESTAMP in the zone."""
    return pc.local_timestamp(column.cast(pa.timestamp("us", standard_name(zone))))


def instants(column: Any, zone: str, *, later: bool = False) -> Any:
    """TIMESTAMP values, shown by clocks in the zone, as TIMESTAMP_LTZ. ``later`` as in ``instant_of``."""
    if isinstance(column, pa.Scalar):
        return instants(pa.array([column.as_py()], pa.timestamp("us")), zone, later=later)[0]
    ambiguous = "latest" if later else "earliest"
    found = pc.assume_timezone(column, standard_name(zone), ambiguous=ambiguous, nonexistent="earliest")
    skipped = pc.not_equal(pc.local_timestamp(found), column).fill_null(False)
    found = found.cast(pa.timestamp("us", "UTC"))
    if not pc.any(skipped).as_py():
        return found
    known = zone_of(zone)
    micros = [instant_of(local, known) for local in column.filter(skipped).to_pylist()]
    return pc.replace_with_mask(found, skipped, pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC")))
