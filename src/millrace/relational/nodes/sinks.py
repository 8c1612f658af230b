"""Where rows go."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from millrace.relational.fields import Schema
from millrace.relational.nodes.base import Single


class Sink(Single):
    """INSERT INTO a table. Its input has the columns of the table in order."""

    path: tuple[str, str, str]
    sink: Any = field(compare=False)
    """a ``TableSink`` (``relational.sources``)"""
    overwrite: bool = False
    partition: tuple[tuple[str, Any], ...] = ()
    """static PARTITION (name = value, ...)"""
    columns: Schema = ()
    """as the table declares them: what it demands of the input's values; empty if nothing is demanded"""

    on_conflict: str = ""
    """ON CONFLICT DO: ERROR, NOTHING or DEDUPLICATE, where several rows have one primary key; empty: not given"""

    @property
    def wants_one_row(self) -> bool:
        """Whether two rows with one primary key are a conflict, of which one row or none is written."""
        return self.on_conflict in ("ERROR", "NOTHING")

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def details(self) -> list[str]:
        parts = [".".join(self.path), *(["overwrite"] if self.overwrite else [])]
        parts += [f"on conflict={self.on_conflict}"] if self.on_conflict else []
        return parts + ([f"partition={dict(self.partition)}"] if self.partition else [])
