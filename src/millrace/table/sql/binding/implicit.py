"""Which types an INSERT casts without being asked."""

from __future__ import annotations

from millrace.relational import types as t
from millrace.relational.casting import is_bytes, is_number, is_text
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

_TIMES = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
_OF_PARAMETERS = (Family.TIME, Family.MONTHS, Family.SPAN, Family.ARRAY, Family.MAP, Family.ROW)
"""values of another length or precision are values of the same kind; parts are looked at one by one"""


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether values go into a column without a CAST: text into text, numbers into numbers, times into times, and the
    parts of constructed types alike."""
    if isinstance(found, t.NullType) or found.is_same(wanted):
        return True
    if (is_text(found) and is_text(wanted)) or (is_bytes(found) and is_bytes(wanted)):
        return True
    if is_number(found) and is_number(wanted):
        return True
    if family_of(found) in _TIMES and family_of(wanted) in _TIMES:
        return True
    return type(found) is type(wanted) and _parts_fit(found, wanted)


def _parts_fit(found: DataType, wanted: DataType) -> bool:
    mine, others = parts_of(found), parts_of(wanted)
    known = family_of(found) in _OF_PARAMETERS
    return known and len(mine) == len(others) and all(map(fits, mine, others))
