"""``'connector' = 'influxdb'``: a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import Sink
from millrace.common.types import RowKind
from millrace.connectors.dbapi import Change
from millrace.connectors.influxdb.influxdb_streams import Connected, InfluxTarget, line
from millrace.connectors.stores import BufferedSink, Buffering
from millrace.connectors.tables.store_table import StoreOptions, no_metadata
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows, concat
from millrace.relational.sources import INSERT_ONLY, TableContext, TableFactory, TableSink
from millrace.relational.type_table import Family, family_of
from millrace.relational.values import to_python
from millrace.util.exceptions import TableException


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


_FIELDS = (Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.TEXT)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_VERSION_2 = ("organization", "bucket", "token")
BUFFERING = Buffering(max_rows=5_000)


class InfluxFactory(TableFactory):
    identifier = "influxdb"
    extra = "influxdb"
    required = ("url", "measurement")
    optional = (
        "database",
        "retention-policy",
        "username",
        "password",
        *_VERSION_2,
        "tags",
        "time-column",
        "connection.timeout",
        "sink.batch-size",
        "sink.flush-interval",
        "sink.max-retries",
        "sink.parallelism",
    )

    def sink(self, table: TableContext) -> TableSink:
        return InfluxTableSink(table)


class InfluxTableSink(TableSink):
    """Writes a point for each row; with a PRIMARY KEY, of tags and time, updated rows as well."""

    def __init__(self, table: TableContext) -> None:
        no_metadata(table)
        options = StoreOptions(table)
        self._target = _target(table, options)
        time, tags = _time(table, options), _tags(table, options)
        if table.primary_key and set(table.primary_key) != {time, *tags}:
            raise TableException(
                f"table {table.summary}: the PRIMARY KEY of a table of InfluxDB is its tags and its time: "
                f"{', '.join((*tags, time))}"
            )
        self.keys = table.primary_key
        self.kinds = INSERT_ONLY | {RowKind.UPDATE_AFTER} if table.primary_key else INSERT_ONLY
        self.parallelism = options.parallelism
        self._changes = InfluxRows(options.given["measurement"], table.columns, tags, time)
        self._buffering = Buffering(
            options.not_negative("sink.batch-size", BUFFERING.max_rows),
            options.seconds("sink.flush-interval", BUFFERING.interval),
            options.not_negative("sink.max-retries", BUFFERING.retries),
        )

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._target, self._changes, self._buffering, len)


def _target(table: TableContext, options: StoreOptions) -> InfluxTarget:
    given = options.given
    if not given["url"].startswith(("http://", "https://")) or "@" in given["url"]:
        raise TableException(f"table {table.summary}: 'url' is http://host:port or https://host:port")
    wanted = ("organization", "bucket") if any(name in given for name in _VERSION_2) else ("database",)
    for name in wanted:
        if name not in given:
            raise TableException(
                f"table {table.summary}: '{name}' is missing: version 1 of InfluxDB takes 'database', version 2 "
                f"'organization', 'bucket' and 'token'"
            )
    return InfluxTarget(
        given["url"].rstrip("/"),
        given.get("database", ""),
        given.get("retention-policy", ""),
        given.get("username", ""),
        given.get("password", ""),
        given.get("organization", ""),
        given.get("bucket", ""),
        given.get("token", ""),
        options.seconds("connection.timeout", 60.0),
    )


def _time(table: TableContext, options: StoreOptions) -> str:
    """The column with the times of points."""
    times = [column.name for column in table.columns if family_of(column.type) in _TIMES]
    name = options.given.get("time-column", times[0] if len(times) == 1 else None)
    if name not in times:
        raise TableException(
            f"table {table.summary}: 'time-column' names the column with the time of a point, one of type TIMESTAMP or "
            f"TIMESTAMP_LTZ: {', '.join(times) or 'there is none'}"
        )
    return str(name)


def _tags(table: TableContext, options: StoreOptions) -> tuple[str, ...]:
    """The columns that are tags; what is neither tag nor time must be a field."""
    tags = tuple(name.strip() for name in options.given.get("tags", "").split(",") if name.strip())
    kinds = {column.name: family_of(column.type) for column in table.columns}
    wrong = next((name for name in tags if kinds.get(name) is not Family.TEXT), None)
    if wrong is not None:
        raise TableException(f"table {table.summary}: tag '{wrong}' is no column of type STRING")
    time = _time(table, options)
    for column in table.columns:
        if column.name not in tags and column.name != time and kinds[column.name] not in _FIELDS:
            raise TableException(
                f"table {table.summary}: column '{column.name}': InfluxDB has no fields of type {column.type}: CAST it "
                f"to DOUBLE, BIGINT or STRING"
            )
    return tags
