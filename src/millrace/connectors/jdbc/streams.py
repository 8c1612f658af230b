"""``JdbcSink`` of DataStreams: a statement for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.sink import Sink
from millrace.common.types import Row
from millrace.connectors.dbapi.changes import DbApiInsert, fields_of
from millrace.connectors.dbapi.exactly_once import DbApiExactlyOnceSink
from millrace.connectors.delegating import DelegatingSink
from millrace.connectors.jdbc.parameters import parameters_of, translated
from millrace.connectors.jdbc.settings import JdbcConnectionOptions, JdbcExactlyOnceOptions, JdbcExecutionOptions
from millrace.connectors.jdbc.sink import Database
from millrace.connectors.jdbc.two_phase import two_phase_sink
from millrace.connectors.stores.buffered import BufferedSink, Buffering

ValuesOf = Callable[[Any], Any]
COMMITS = "millrace_commits"


class JdbcSink(DelegatingSink):
    """Executes a statement with the fields of each element: ``JdbcSink.sink(sql, type_info, connection_options)``, or
    ``JdbcSink.builder()``.

        >>> import sqlite3
        >>> _ = sqlite3.connect("shop.db").execute("CREATE TABLE words (word TEXT, n INT)")
        >>> types = Types.ROW([Types.STRING(), Types.INT()])
        >>> options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:shop.db").build()
        >>> sink = env.from_collection([("a", 1)], types).add_sink(
        ...     JdbcSink.sink("INSERT INTO words VALUES (?, ?)", types, options))
        >>> result = env.execute()
        >>> sqlite3.connect("shop.db").execute("SELECT * FROM words").fetchall()
        [('a', 1)]
    """

    def __init__(self, sink: Sink[Any]) -> None:
        if not isinstance(sink, Sink):
            raise TypeError(
                "JdbcSink is made by JdbcSink.sink(...) or JdbcSink.builder(): there are no Java objects here"
            )
        self._sink = sink

    @staticmethod
    def sink(
        sql: str,
        type_info: Any,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """At least once.

        :param sql: with a question mark for each field.
        :param type_info: of the rows; a Row with names is read by the names of this type.
        """
        builder = JdbcSink.builder().with_query_statement(sql, type_info)
        if jdbc_execution_options is not None:
            builder.with_execution_options(jdbc_execution_options)
        return builder.build_at_least_once(jdbc_connection_options)

    @staticmethod
    def builder() -> JdbcSinkBuilder:
        """Begins a sink; one of its ``build_..`` methods ends it."""
        return JdbcSinkBuilder()


class JdbcSinkBuilder:
    """Puts a ``JdbcSink`` together.

        >>> types = Types.ROW([Types.STRING(), Types.INT()])
        >>> options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:shop.db").build()
        >>> builder = JdbcSink.builder().with_query_statement("INSERT INTO words VALUES (?, ?)", types)
        >>> sink = builder.build_at_least_once(options)
    """

    def __init__(self) -> None:
        self._sql: str | None = None
        self._names: list[str] | None = None
        self._values_of: ValuesOf | None = None
        self._execution = JdbcExecutionOptions.defaults()

    def with_query_statement(
        self, sql: str, type_info: Any = None, values_of: ValuesOf | None = None
    ) -> JdbcSinkBuilder:
        """:param values_of: element -> the values of the parameters, in place of its fields."""
        self._sql = sql
        self._names = list(type_info.get_field_names()) if hasattr(type_info, "get_field_names") else None
        self._values_of = values_of
        return self

    def with_execution_options(self, execution_options: JdbcExecutionOptions) -> JdbcSinkBuilder:
        """Batches and retries."""
        self._execution = execution_options
        return self

    def build_at_least_once(self, connection_options: JdbcConnectionOptions) -> JdbcSink:
        """A sink that may write rows again after a failure."""
        database = connection_options.database()
        settings = self._execution
        buffering = Buffering(
            settings.get_batch_size(), settings.get_batch_interval_ms() / 1000, settings.get_max_retries()
        )
        return JdbcSink(BufferedSink(database, self._change(database), buffering, _one))

    def build_exactly_once(
        self, connection_options: JdbcConnectionOptions, exactly_once_options: JdbcExactlyOnceOptions | None = None
    ) -> JdbcSink:
        """By prepared transactions, as Flink does by XA, or by marks if the options say so.

            >>> types = Types.ROW([Types.STRING(), Types.INT()])
            >>> options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:shop.db").build()
            >>> builder = JdbcSink.builder().with_query_statement("INSERT INTO words VALUES (?, ?)", types)
            >>> sink = builder.build_exactly_once(options, JdbcExactlyOnceOptions.marks())
        """
        database = connection_options.database()
        change = self._change(database)
        settings = exactly_once_options or JdbcExactlyOnceOptions.defaults()
        if settings.by_marks:
            return JdbcSink(
                DbApiExactlyOnceSink(database, change, settings.log_directory, param_style=database.dialect.style)
            )
        return JdbcSink(two_phase_sink(database, change, COMMITS))

    def _change(self, database: Database) -> DbApiInsert[Any]:
        """:raises ValueError: no statement, or one whose parameters are not as many as the fields."""
        if self._sql is None:
            raise ValueError("a JdbcSink needs with_query_statement(...)")
        count = parameters_of(self._sql)
        if self._names is not None and self._values_of is None and count != len(self._names):
            raise ValueError(
                f"the statement has {count} parameters, but rows have the fields {self._names}: {self._sql}"
            )
        values = _Values(self._values_of, self._names, database)
        return DbApiInsert(translated(self._sql, database.dialect.style), values)


class _Values:
    """Element -> parameters."""

    def __init__(self, values_of: ValuesOf | None, names: list[str] | None, database: Database) -> None:
        self._values_of = values_of
        self._names = names
        self._dialect = database.dialect

    def __call__(self, element: Any) -> tuple[Any, ...]:
        return tuple(map(self._dialect.parameter, self._fields(element)))

    def _fields(self, element: Any) -> Any:
        if self._values_of is not None:
            return self._values_of(element)
        named = isinstance(element, Row) and element._fields is not None
        if self._names is not None and (named or isinstance(element, dict)):
            return [element[name] for name in self._names]
        return element.values() if isinstance(element, dict) else fields_of(element)


def _one(element: Any) -> int:
    return 1
