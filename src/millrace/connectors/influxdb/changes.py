"""Rows in columns, and points of DataStreams, as what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.dbapi.changes import Change
from millrace.connectors.influxdb.connection import Connected
from millrace.connectors.influxdb.points import line
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows, concat
from millrace.relational.values import to_python


@dataclass(frozen=True)
class InfluxRows(Change[Rows]):
    """A point for each row. One that has the tags and the time of another takes its place, field by field."""

    measurement: str
    columns: Schema
    tags: tuple[str, ...]
    time: str
    """the column with the time of a point"""

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        rows = concat(elements)
        if not len(rows):
            return
        named = {column.name: to_python(values, column.type) for column, values in zip(self.columns, rows.columns)}
        times = named.pop(self.time)
        tags = {name: named.pop(name) for name in self.tags}
        connection.write(
            "\n".join(
                line(self.measurement, _at(tags, place), _at(named, place), _known(time))
                for place, time in enumerate(times)
            ).encode()
        )


def _at(columns: dict[str, list[Any]], place: int) -> dict[str, Any]:
    return {name: values[place] for name, values in columns.items()}


def _known(time: Any) -> Any:
    if time is None:
        raise ValueError("a point needs a time, and this one's is NULL")
    return time
