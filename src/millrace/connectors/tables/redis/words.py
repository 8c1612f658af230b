"""Columns as words of commands, and answers of Redis as columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.casts.texts import column_of_texts, column_texts
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import BooleanType, DataType

SEPARATOR = b"\x01"
"""between the columns of a row that is one value"""


def words_of(column: pa.Array, kind: DataType) -> list[bytes | None]:
    """Bytes as they are, all else as text: what CAST gives, but ``true`` and ``false``."""
    if family_of(kind) is Family.BYTES:
        found: list[bytes | None] = column.to_pylist()
        return found
    texts = column_texts(column, kind)
    small = isinstance(kind, BooleanType)
    return [None if each is None else (each.lower() if small else each).encode() for each in texts]


def column_of(words: Sequence[bytes | None], kind: DataType, name: str) -> pa.Array:
    """:raises ValueError: a word is no value of the type."""
    if family_of(kind) is Family.BYTES:
        return pa.array(list(words), arrow_type(kind))
    try:
        return column_of_texts([None if each is None else each.decode() for each in words], kind)
    except ValueError as error:
        raise ValueError(f"column '{name}' {kind}: {error}") from None
