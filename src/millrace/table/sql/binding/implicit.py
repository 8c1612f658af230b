"""Which types an INSERT casts without being asked."""

from __future__ import annotations

from millrace.relational import types as t
from millrace.relational.casting import is_bytes, is_number, is_text
from millrace.relational.types import DataType

_TIMES = (t.DateType, t.TimestampType, t.LocalZonedTimestampType)


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether values go into a column without a CAST: text into text, numbers into numbers, times into times, and the
    parts of constructed types alike."""
    if isinstance(found, t.NullType) or found.is_same(wanted):
        return True
    if (is_text(found) and is_text(wanted)) or (is_bytes(found) and is_bytes(wanted)):
        return True
    if is_number(found) and is_number(wanted):
        return True
    if isinstance(found, _TIMES) and isinstance(wanted, _TIMES):
        return True
    return type(found) is type(wanted) and _parts_fit(found, wanted)


def _parts_fit(found: DataType, wanted: DataType) -> bool:
    if isinstance(found, t.RowType) and isinstance(wanted, t.RowType):
        pairs = list(zip(found.field_types(), wanted.field_types()))
        return len(found) == len(wanted) and all(fits(a, b) for a, b in pairs)
    if isinstance(found, (t.ArrayType, t.MultisetType)) and isinstance(wanted, (t.ArrayType, t.MultisetType)):
        return fits(found.element_type, wanted.element_type)
    if isinstance(found, t.MapType) and isinstance(wanted, t.MapType):
        return fits(found.key_type, wanted.key_type) and fits(found.value_type, wanted.value_type)
    return isinstance(found, (t.TimeType, t.YearMonthIntervalType, t.DayTimeIntervalType))
