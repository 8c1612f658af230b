"""Which key found which row, where a statement does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.connectors.jdbc.dialects.values import columns_of
from millrace.relational.types import DataType
from millrace.relational.values import to_python


def by_value(
    rows: Sequence[Sequence[Any]], keys: Sequence[tuple[str, DataType]], values: Sequence[pa.Array]
) -> list[tuple[int, tuple[Any, ...]]] | None:
    """Rows that end with the values of their key. None: one has a key that was not asked for in these very letters, as
    databases find that take capitals and small letters for the same, or blanks at the end for nothing."""
    kinds = [kind for _, kind in keys]
    asked = {key: place for place, key in enumerate(zip(*(to_python(each, kind) for each, kind in zip(values, kinds))))}
    width = len(keys)
    found = list(zip(*columns_of([row[-width:] for row in rows], kinds))) if rows else []
    if any(key not in asked for key in found):
        return None if len(asked) > 1 else [(0, tuple(row[:-width])) for row in rows]
    if len(asked) > 1 and len(set(map(_folded, asked))) < len(asked):
        return None  # 'a' and 'A' may both find what only one of them is
    return [(asked[key], tuple(row[:-width])) for key, row in zip(found, rows)]


def _folded(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each.casefold().rstrip() if isinstance(each, str) else each for each in key)
