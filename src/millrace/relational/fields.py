"""Columns of tables and of the nodes of plans."""

from __future__ import annotations

from millrace.relational.types import DataType
from millrace.util.record import Record

ROWTIME, PROCTIME = "ROWTIME", "PROCTIME"


class Field(Record):
    """A column of a node's result."""

    name: str
    type: DataType
    time: str | None = None
    """ROWTIME or PROCTIME for a time attribute"""

    def __str__(self) -> str:
        return f"{self.name} {self.type}" + (f" *{self.time}*" if self.time else "")


Schema = tuple[Field, ...]
