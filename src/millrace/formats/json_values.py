"""Decoded values of JSON as numbers and texts, for tables and for streams."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from millrace.formats.text_columns import in_range, parse_whole
from millrace.relational.functions.json_text import quoted


def scalar_text(value: Any) -> str:
    """The text of a number, which may be in quotes.

    :raises ValueError: it is an object or an array.
    """
    if isinstance(value, (dict, list)):
        raise ValueError(f"a number is needed, not {compact(value)[:100]}")
    return value if isinstance(value, str) else compact(value)


def whole_number(value: Any, bits: int) -> int:
    """An integer of so many bits; of a number with a fraction the part before the point, as Flink reads it.

    :raises ValueError: it is none, or too large.
    """
    if isinstance(value, Decimal) and bits >= 32:
        # The exponent may be as large as someone likes.
        return in_range(int(value) if value.adjusted() < 20 else 1 << 64, bits)
    return parse_whole(scalar_text(value), bits)


def compact(value: Any) -> str:
    """What ``decoded`` gave, as JSON without blanks."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{quoted(key)}:{compact(part)}" for key, part in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
