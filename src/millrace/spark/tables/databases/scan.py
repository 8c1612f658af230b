"""What a database computes of a scan: the columns, conditions that mean the same everywhere, parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.connectors.jdbc.dialects.literals import constant
from millrace.connectors.jdbc.pushed import conditions
from millrace.connectors.jdbc.scan import Partitions
from millrace.relational.fields import Schema
from millrace.relational.rex import Rex
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType


def quoted(name: str) -> str:
    """As the standard has it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


class Standard:
    """SQL that any database reads. Dates and times are left to Spark, which knows how each writes them."""

    text_is_exact = False

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def name(self, name: str) -> str | None:
        found = self._names.get(name)
        return None if found is None else quoted(found)

    def literal(self, value: Any, kind: DataType) -> str | None:
        family = family_of(kind)
        if family is Family.TEXT:
            # Some read a text in the letters of one country unless it has a mark, and some take \\ for one.
            plain = isinstance(value, str) and value.isascii() and value.isprintable() and "\\" not in value
            return f"'{value.replace(chr(39), chr(39) * 2)}'" if plain and value else None
        return constant(value, kind, repr) if family in (Family.INTEGER, Family.DECIMAL) else None


def relation(
    table: str, wanted: Sequence[str], filters: Sequence[Rex], columns: Schema, names: dict[str, str],
    partitions: Partitions | None,
) -> str:  # fmt: skip
    """What stands behind FROM.

    :param wanted: columns, as the table of Millrace calls them.
    """
    checked = list(conditions(filters, columns, Standard(names)))
    if partitions is not None:
        # Spark's bounds only say how the parts are cut, Flink's which rows are read.
        column = quoted(names[partitions.column])
        checked.append(f"{column} BETWEEN {partitions.lower} AND {partitions.upper}")
    if not checked:
        return table
    read = dict.fromkeys([*wanted, *([] if partitions is None else [partitions.column])])
    chosen = ", ".join(quoted(names[each]) for each in read) or "1 AS one"
    return f"(SELECT {chosen} FROM {table} WHERE {' AND '.join(checked)}) millrace"


def given_to_spark(columns: Schema, wanted: Sequence[str]) -> bool:
    """Whether Spark may hand conditions of its own to the database: it does not check them again, so there may be
    nothing that databases compare in another way."""
    kinds = {each.name: family_of(each.type) for each in columns}
    return not any(kinds[name] in (Family.TEXT, Family.APPROXIMATE) for name in wanted)
