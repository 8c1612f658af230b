"""FLOOR and CEIL of times to a unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Column, Infer, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import signature
from millrace.relational.functions.times.numbers import (
    DAY,
    FIXED,
    MONTHS,
    POINTS,
    Numbers,
    column_of,
    cut,
    numbers,
    unit_of,
)
from millrace.relational.functions.times.zones import instants, local_times
from millrace.relational.rex import Call, Rex

_SUNDAY = 3 * DAY
"""the first Sunday: weeks begin on Sundays"""


def _infer(name: str) -> Infer:
    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        if len(args) != 1 or not isinstance(args[0].type, (t.TimeType, *POINTS)) or "unit" not in options:
            raise SignatureError(f"it takes (time TO unit), as in {name}(ts TO HOUR)")
        clock = isinstance(args[0].type, t.TimeType)
        known = [unit for unit in FIXED if FIXED[unit] < DAY] if clock else [*FIXED, *MONTHS]
        unit_of(options, known)
        return signature([args[0].type], args[0].type)

    return infer


@scalar("FLOOR TIME", _infer("FLOOR"), overload_of="FLOOR", syntax="FLOOR(time TO unit)")
def floor(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _round(call, args[0], around, up=False)


@scalar("CEIL TIME", _infer("CEIL"), overload_of="CEIL", syntax="CEIL(time TO unit)")
def ceil(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _round(call, args[0], around, up=True)


def _round(call: Call, column: Column, around: Surroundings, up: bool) -> Column:
    unit, data_type, wanted = unit_of(dict(call.options), FIXED | MONTHS), call.type, arrow_type(call.type)
    values = numbers(column)
    if isinstance(data_type, t.DateType):
        if unit == "DAY" and up:  # Flink's choice: the next day, though a DATE begins a day already
            return column_of(values + 1, wanted, column)
        return column_of(rounded(values * DAY, unit, up) // DAY, wanted, column)
    if isinstance(data_type, t.TimeType):
        return column_of(rounded(values, unit, up) % DAY, wanted, column)
    if isinstance(data_type, t.LocalZonedTimestampType):
        local = local_times(column, around.zone)
        shown = numbers(local)
        if FIXED.get(unit, DAY) < DAY:  # within the hour: the clock is not put forward or back meanwhile
            return column_of(cut(rounded(shown, unit, up) - shown + values, data_type), wanted, column)
        whole = column_of(rounded(shown, unit, up), pa.timestamp("us"), column)
        return instants(whole, around.zone)
    return column_of(cut(rounded(values, unit, up), data_type), wanted, column)


def rounded(micros: Numbers, unit: str, up: bool) -> Numbers:
    """The last beginning of the unit before or at each time, or the first one after or at it."""
    if unit in FIXED:
        size, start = FIXED[unit], _SUNDAY if unit == "WEEK" else 0
        low = (micros - start) // size * size + start
        return np.where(low < micros, low + size, low) if up else low
    months = MONTHS[unit]
    # counted from January of year 0; centuries and millennia begin with a year 1
    start = 12 if unit in ("CENTURY", "MILLENNIUM") else 0
    month = (micros // DAY).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    first = (month - start) // months * months + start
    low = _beginning(first)
    return np.where(low < micros, _beginning(first + months), low) if up else low


def _beginning(month: Numbers) -> Numbers:
    days = (month - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.asarray(days * DAY, np.int64)
