"""Where rows come from."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from millrace.relational.fields import Field, Schema
from millrace.relational.nodes.base import ASIDE, Rel
from millrace.relational.rex import Literal, Rex
from millrace.relational.rex_text import literal_text, rex_text


class Scan(Rel):
    """Read a table of a catalog, its physical and metadata columns; computed columns and the watermark are nodes above
    it. ``source`` is what the connector made of the table's options."""

    path: tuple[str, str, str]
    """catalog, database, table"""
    columns: Schema
    source: Any = field(compare=False, default=None)
    """a ``TableSource`` (``relational.sources``)"""
    projected: tuple[int, ...] | None = None
    """the columns of the source that are read, None for all; ``columns`` has only these"""
    filters: tuple[Rex, ...] = field(default=(), metadata=ASIDE)
    """conditions that the source may use to read less, over all columns of the source; they are checked again above"""
    versions: bool = False
    """whether every version of a row counts, not only the one that is there at the end of a batch"""
    rows: int | None = field(default=None, compare=False)
    """about how many rows the table has, by the statistics of its catalog; None: nobody has counted them"""
    key: tuple[str, ...] = field(default=(), compare=False)
    """the columns of its PRIMARY KEY"""

    def details(self) -> list[str]:
        parts = [".".join(self.path), "[" + ", ".join(column.name for column in self.columns) + "]"]
        parts += [rex_text(condition, self._all_columns()) for condition in self.filters]
        parts += getattr(self.source, "pushed", ())
        return parts if self.rows is None else [*parts, f"rows={self.rows}"]

    def _all_columns(self) -> Schema:
        """Those of the source, also where only some are read. Conditions read others only before these are left out."""
        if self.projected is None:
            return self.columns
        table = getattr(self.source, "table", None)
        known = [] if table is None else [*table.columns, *(Field(name, type_) for name, _, type_ in table.metadata)]
        read = dict(zip(self.projected, self.columns, strict=True))
        return tuple(read.get(place, column) for place, column in enumerate(known)) or self.columns


class Values(Rel):
    """Rows written in the query: literals in their Python form."""

    columns: Schema
    rows: tuple[tuple[Any, ...], ...]

    def details(self) -> list[str]:
        return [
            "(" + ", ".join(literal_text(Literal(c.type, value)) for value, c in zip(row, self.columns)) + ")"
            for row in self.rows
        ]


class StreamScan(Rel):
    """A DataStream as a table."""

    columns: Schema
    stream: Any = field(compare=False)
    changelog: Any = field(default=None, compare=False)
    """a ``ChangelogMode``, None for insertions only"""
    key: tuple[int, ...] = ()
    """the columns that rows are known by, if changes come without the former content of rows"""

    def details(self) -> list[str]:
        return ["[" + ", ".join(column.name for column in self.columns) + "]"]
