"""``type: postgres``, ``mysql`` and ``jdbc``: another database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.cdc.definition.change_kinds import CREATE_TABLE
from millrace.cdc.definition.end_options import EndOptions
from millrace.cdc.definition.model import Behavior, Pipeline
from millrace.cdc.sinks.base import PipelineSink
from millrace.cdc.sinks.database_writer import DatabaseSink, Writing
from millrace.connectors.cdc.schema import TableId
from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect
from millrace.connectors.jdbc.dialects.sqlite import SqliteDialect
from millrace.connectors.jdbc.dialects.target import CONNECT_SECONDS, Target
from millrace.connectors.jdbc.sink import Database
from millrace.connectors.jdbc.url import parse
from millrace.connectors.stores.buffered import Buffering

if TYPE_CHECKING:
    from millrace.datastream import DataStream

_SHARED = ("username", "password", "connect.timeout", "sink.buffer-flush.max-rows", "sink.buffer-flush.interval",
           "sink.max-retries")  # fmt: skip
_PLACE = ("hostname", "port", "database-name")
_PREFIX = "jdbc.properties."
_KINDS: dict[str, tuple[Dialect, int]] = {"postgres": (PostgreSqlDialect(), 5432), "mysql": (MySqlDialect(), 3306)}


@dataclass(frozen=True)
class TableNames:
    """A table of the sink as the database calls it: PostgreSQL has schemas, MySQL databases, SQLite neither."""

    dialect: Dialect
    database: str

    def __call__(self, table: TableId) -> str:
        if "." in table.schema + table.table:
            raise ValueError(f"table {table}: names with dots in them cannot be written; name another one in 'route'")
        if isinstance(self.dialect, SqliteDialect):
            return table.table
        if table.namespace and isinstance(self.dialect, MySqlDialect):
            raise ValueError(f"{self.dialect.title} has no schemas: {table} is no table there; name another in 'route'")
        if table.namespace and table.namespace != self.database:
            raise ValueError(
                f"table {table} is of database {table.namespace}, and the sink writes to {self.database}: name "
                f"schema.table in 'route'"
            )
        return table.short


class DatabasePipelineSink(PipelineSink):
    def __init__(self, pipeline: Pipeline) -> None:
        end = pipeline.sink
        names = (*(("url",) if end.type == "jdbc" else _PLACE), *_SHARED)
        options = EndOptions(end, names, (_PREFIX,))
        dialect, target = self._jdbc(options) if end.type == "jdbc" else self._place(options)
        default = Buffering()
        buffering = Buffering(
            options.number("sink.buffer-flush.max-rows", default.max_rows),
            options.seconds("sink.buffer-flush.interval", default.interval),
            options.number("sink.max-retries", default.retries),
        )
        kind = {"postgres": PostgreSqlDialect, "mysql": MySqlDialect}.get(pipeline.source.type)
        self.writing = Writing(
            Database(dialect, target),
            TableNames(dialect, target.database),
            buffering,
            creates=CREATE_TABLE in pipeline.accepted,
            natives=kind is not None and isinstance(dialect, kind),
            tolerant=pipeline.behavior is Behavior.TRY_EVOLVE,
        )

    def _jdbc(self, options: EndOptions) -> tuple[Dialect, Target]:
        try:
            return parse(
                options.needed("url"),
                options.text("username"),
                options.text("password"),
                options.below(_PREFIX),
                options.seconds("connect.timeout", CONNECT_SECONDS),
            )
        except ValueError as error:
            options.fail("url", str(error))

    def _place(self, options: EndOptions) -> tuple[Dialect, Target]:
        kind = options.end.type
        dialect, port = _KINDS[kind]
        database = options.needed("database-name") if kind == "postgres" else options.text("database-name") or ""
        target = Target(
            ((options.needed("hostname"), options.number("port", port)),),
            database,
            options.needed("username"),
            options.text("password"),
            options.below(_PREFIX),
            options.seconds("connect.timeout", CONNECT_SECONDS),
        )
        return dialect, target

    keeps_rows_by_keys = True

    def attach(self, stream: DataStream) -> Any:
        return stream.sink_to(DatabaseSink(self.writing))
