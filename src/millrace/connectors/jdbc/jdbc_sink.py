"""``JdbcSink`` of DataStreams and its options, under PyFlink's names: a statement for each element.

Statements have JDBC's question marks; ``translated`` writes them as the driver wants them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from millrace.common.sink import Sink
from millrace.common.typeinfo import TypeInformation
from millrace.common.types import Row
from millrace.connectors.dbapi import DbApiExactlyOnceSink, DbApiInsert, fields_of
from millrace.connectors.jdbc.jdbc_database import Database, parse_url
from millrace.connectors.jdbc.prepared_transactions import two_phase_sink
from millrace.connectors.sink_base import DelegatingSink
from millrace.connectors.stores import BufferedSink, Buffering

_TOKENS = re.compile(
    r"""
    '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*`          # texts and names
    | --[^\n]* | /\*.*?\*/                             # comments
    | (?P<tag>\$\w*\$).*?(?P=tag)                      # PostgreSQL's texts in dollars
    | (?P<twice>\?\?) | (?P<mark>\?)
    """,
    re.VERBOSE | re.DOTALL,
)


def parameters_of(statement: str) -> int:
    """How many there are."""
    return sum(match["mark"] is not None for match in _TOKENS.finditer(statement))


def translated(statement: str, style: str) -> str:
    """The statement for a driver. ``??`` stands for a question mark that is an operator.

    :param style: ``format`` or ``qmark`` of PEP 249.
    """
    if style == "qmark":
        return statement

    def token(match: re.Match[str]) -> str:
        if match["mark"]:
            return "%s"
        return "?" if match["twice"] else match[0]

    doubled = statement.replace("%", "%%")
    return _TOKENS.sub(token, doubled)


_BATCH, _RETRIES = 5_000, 3


def _made(name: str) -> NoReturn:
    raise TypeError(f"{name} is made by its builder: there are no Java objects here")


class JdbcConnectionOptions:
    """Where the database is: ``JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(...).build()``.

    >>> builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:shop.db")
    >>> builder.with_driver_name("org.sqlite.JDBC").build().get_db_url()
    'jdbc:sqlite:shop.db'
    """

    class JdbcConnectionOptionsBuilder:
        """Puts the options together."""

        def __init__(self) -> None:
            self._given = _Connection()

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.url = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Without effect: the URL says which driver of Python is used."""
            self._given.driver = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.user = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.password = password
            return self

        def with_connection_check_timeout_seconds(
            self, connection_check_timeout_seconds: int
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """In which a connection has to be there."""
            self._given.timeout = connection_check_timeout_seconds
            return self

        def with_property(self, prop_key: str, prop_val: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given.properties[prop_key] = prop_val
            return self

        def build(self) -> JdbcConnectionOptions:
            """:raises ValueError: no URL, or one that is none."""
            options = JdbcConnectionOptions(self._given)
            options.database()
            return options

    def __init__(self, j_jdbc_connection_options: object) -> None:
        if not isinstance(j_jdbc_connection_options, _Connection):
            _made("JdbcConnectionOptions")
        self._given = j_jdbc_connection_options

    def get_db_url(self) -> str:
        """The address of the database."""
        return self._given.url

    def get_driver_name(self) -> str | None:
        """The name of Java's driver, which is not used here."""
        return self._given.driver

    def get_password(self) -> str | None:
        """The password of the user."""
        return self._given.password

    def get_user_name(self) -> str | None:
        """The user name."""
        return self._given.user

    def database(self) -> Database:
        """The database with its dialect."""
        given = self._given
        return Database(*parse_url(given.url, given.user, given.password, given.properties, given.timeout))


@dataclass
class _Connection:
    url: str = ""
    driver: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 60
    properties: dict[str, str] = field(default_factory=dict, repr=False)


class JdbcExecutionOptions:
    """When a sink writes, and how often it tries.

    >>> JdbcExecutionOptions.builder().with_batch_size(200).with_max_retries(5).build().get_batch_size()
    200
    """

    class Builder:
        """Puts the options together."""

        def __init__(self) -> None:
            self._given = _Execution()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            self._given.size = _not_negative("batch size", size)
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            self._given.interval = _not_negative("batch interval", interval_ms)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            self._given.retries = _not_negative("number of retries", max_retries)
            return self

        def build(self) -> JdbcExecutionOptions:
            return JdbcExecutionOptions(self._given)

    def __init__(self, j_jdbc_execution_options: object) -> None:
        if not isinstance(j_jdbc_execution_options, _Execution):
            _made("JdbcExecutionOptions")
        self._given = j_jdbc_execution_options

    def get_batch_interval_ms(self) -> int:
        """How long rows wait for others, in ms; 0: no limit."""
        return self._given.interval

    def get_batch_size(self) -> int:
        """How many rows a batch has at most."""
        return self._given.size

    def get_max_retries(self) -> int:
        """How often a failed batch is tried again."""
        return self._given.retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """The options that hold where nothing is said."""
        return JdbcExecutionOptions(_Execution())

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begins options; ``build()`` ends them."""
        return JdbcExecutionOptions.Builder()


@dataclass
class _Execution:
    size: int = _BATCH
    interval: int = 0
    retries: int = _RETRIES


def _not_negative(what: str, value: int) -> int:
    if value < 0:
        raise ValueError(f"the {what} must not be negative, got {value}")
    return value


@dataclass(frozen=True)
class JdbcExactlyOnceOptions:
    """How a sink writes exactly once.

        >>> options = JdbcExactlyOnceOptions.defaults()

    :ivar by_marks: what an epoch wrote waits in the checkpoint, and is written with its name in one transaction; else
        the database prepares transactions, which it must be set up for.
    :ivar log_directory: where large epochs wait then; None: in the checkpoint itself.
    """

    by_marks: bool = False
    log_directory: str | None = None

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """The options that hold where nothing is said."""
        return JdbcExactlyOnceOptions()

    @staticmethod
    def marks(log_directory: str | None = None) -> JdbcExactlyOnceOptions:
        """A table in the database says which batches are written, instead of prepared transactions."""
        return JdbcExactlyOnceOptions(True, log_directory)


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
        type_info: TypeInformation,
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
        self, sql: str, type_info: TypeInformation | None = None, values_of: ValuesOf | None = None
    ) -> JdbcSinkBuilder:
        """:param values_of: element -> the values of the parameters, in place of its fields."""
        self._sql = sql
        names = getattr(type_info, "get_field_names", None)
        self._names = None if names is None else list(names())
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
