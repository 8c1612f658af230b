"""``Session``: what SQL and the Table API find by name, the program that tables are part of, and the engines that run
plans (one for streaming, one for batch): the one seam between the Table API and its engines. And the settings of a
session: its modes, its configuration, the kinds of change of a changelog, the details of EXPLAIN, the dialect of SQL.
``millrace.table`` has the public names."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from millrace.common.configuration import Configuration, to_duration
from millrace.common.time import Duration
from millrace.common.types import RowKind
from millrace.configuration.own_options import MATCH_SEMANTICS
from millrace.configuration.registry import ConfigurationError, older_names, tell_about
from millrace.datastream.job_settings import EXECUTABLE
from millrace.relational.nodes import Rel, Sink
from millrace.relational.rules.plan_text import plan_text
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT
from millrace.relational.time_zones import zone_of
from millrace.table.catalogs.catalog import GenericInMemoryCatalog
from millrace.table.catalogs.descriptors import TableDescriptor
from millrace.table.catalogs.objects import ObjectIdentifier, split_path
from millrace.table.functions.function_catalog import CatalogManager, FoundTable, Functions
from millrace.table.queries.projection import renamed
from millrace.table.sessions.table_info import (
    EVERYWHERE,
    READS_FILES,
    Connectors,
    sink_info,
    source_info,
    table_of_file,
    unnamed,
    with_columns,
)
from millrace.table.sql.binding import bind_query
from millrace.table.sql.binding.calls import user_function
from millrace.table.sql.binding.insert import insert_plan
from millrace.table.sql.binding.scope import SinkInfo, TableInfo, UserFunction
from millrace.table.sql.grammar.parser import parse_statement
from millrace.table.sql.statements import Query, Reset, Set, Statement
from millrace.table.sql.text import SqlError
from millrace.table.values.program_errors import problem
from millrace.util.fallback import HasOlderNames, OlderStatics
from millrace.util.names import did_you_mean
from millrace.util.not_yet import not_yet
from millrace.util.system import system_zone

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment
    from millrace.table.sessions.table_result import TableResult

# ChangelogMode


class ChangelogMode:
    """The kinds of change in a changelog.

    >>> ChangelogMode.upsert() == ChangelogMode.all()
    False
    """

    def __init__(self, kinds: frozenset[RowKind]) -> None:
        self._kinds = kinds

    @property
    def kinds(self) -> frozenset[RowKind]:
        """The kinds of change that there may be."""
        return self._kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added."""
        return ChangelogMode(INSERT_ONLY)

    @staticmethod
    def upsert() -> ChangelogMode:
        """A changelog without the old content of updated rows; rows are identified by their key."""
        return ChangelogMode(UPSERT)

    @staticmethod
    def all() -> ChangelogMode:
        """Rows are added, updated (old and new row) and deleted."""
        return ChangelogMode(ALL_KINDS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __str__(self) -> str:
        return f"[{', '.join(kind.name for kind in RowKind if kind in self._kinds)}]"


# ExplainDetail


class ExplainDetail(Enum):
    """A detail of EXPLAIN.

    >>> print(orders.explain(ExplainDetail.CHANGELOG_MODE).splitlines()[0])
    == Abstract Syntax Tree ==
    """

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    """kinds of change that every operator gives"""
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


# SqlDialect


class SqlDialect(Enum):
    """A dialect of SQL; only DEFAULT is read.

    >>> t_env.get_config().get_sql_dialect()
    <SqlDialect.DEFAULT: 0>
    """

    DEFAULT = 0
    HIVE = 1


# TableConfig

ZONE = "table.local-time-zone"
STATE_TTL = "table.exec.state.ttl"
DIALECT = "table.sql-dialect"
CODE_LENGTH = "table.generated-code.max-length"
COLUMN_WIDTH = "table.display.max-column-width"
JOB_NAME = "pipeline.name"
DML_SYNC = "table.dml-sync"


class TableConfig(HasOlderNames):
    """Settings of a session by key, with methods for the usual ones.

    What the session does not set is looked up in the configuration of the environment that it was made with.

        >>> config = t_env.get_config().set("table.exec.state.ttl", "1 h")
        >>> config.get("table.exec.state.ttl", "")
        '1 h'
    """

    def __init__(self, configuration: Configuration | None = None, root: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._root = Configuration() if root is None else root

    def get(self, key: str, default_value: str) -> str:
        """The value of a key, or the default."""
        for configuration in (self._configuration, self._root):
            for name in (key, *older_names(key)):
                if configuration.contains_key(name):
                    return configuration.get_string(name, default_value)
        return default_value

    def set(self, key: str, value: str) -> TableConfig:
        """:raises TableException: a key that is known, with a value that it cannot have.

        >>> _ = t_env.get_config().set("parallelism.default", "2")
        """
        if not isinstance(value, str):
            raise TypeError(f"the value of {key} is text, not {value!r}")
        _check(key, value)
        try:
            tell_about({key: value})
        except ConfigurationError as error:
            raise problem(str(error)) from None
        self._configuration.set_string(key, value)
        return self

    def add_configuration(self, configuration: Configuration) -> None:
        """Set all keys of a configuration."""
        self._configuration.add_all(configuration)

    def get_configuration(self) -> Configuration:
        """What this session sets itself."""
        return self._configuration

    def to_map(self) -> dict[str, str]:
        """All settings."""
        return {**self._root.to_dict(), **self._configuration.to_dict()}

    def get_local_timezone(self) -> str:
        """The zone of TIMESTAMP_LTZ as text; that of the system unless it is set."""
        zone = self.get(ZONE, "default")
        return system_zone() if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """The zone in which TIMESTAMP_LTZ is shown and cast.

        >>> t_env.get_config().set_local_timezone("Asia/Shanghai")
        >>> t_env.get_config().get_local_timezone()
        'Asia/Shanghai'
        """
        self.set(ZONE, timezone_id)

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long unused state is retained (``table.exec.state.ttl``); 0: without limit."""
        millis = to_duration(self.get(STATE_TTL, "0 ms")).to_millis()
        return datetime.timedelta(milliseconds=millis)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set how long unused state is retained (``table.exec.state.ttl``); 0: without limit."""
        self.set(STATE_TTL, f"{duration // datetime.timedelta(milliseconds=1)} ms")

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect of statements."""
        return SqlDialect[self.get(DIALECT, "DEFAULT").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Set the dialect of statements; only ``DEFAULT`` runs."""
        self.set(DIALECT, sql_dialect.name)

    def get_max_generated_code_length(self) -> int:
        """The value of the option, which has no effect here: no code is generated. For compatibility with PyFlink."""
        return int(self.get(CODE_LENGTH, "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accepted: no code is generated."""
        self.set(CODE_LENGTH, str(max_generated_code_length))

    def get_python_executable(self) -> str:
        """The Python of the workers; the program's own if none is set."""
        return self.get(EXECUTABLE, sys.executable)

    def set_python_executable(self, python_exec: str) -> None:
        """The Python of the workers."""
        self.set(EXECUTABLE, python_exec)

    @staticmethod
    def get_default() -> TableConfig:
        """A configuration in which nothing is set."""
        return TableConfig()


def _check(key: str, value: str) -> None:
    if key == DIALECT and value.upper() not in SqlDialect.__members__:
        raise problem(f"{DIALECT}: there is no SQL dialect '{value}', only {', '.join(SqlDialect.__members__).lower()}")
    if key == ZONE and value != "default":
        try:
            zone_of(value)
        except ValueError as error:
            raise problem(f"{ZONE}: {error}") from None
    if key == STATE_TTL:
        try:
            found = to_duration(value)
        except ValueError as error:
            raise problem(f"{key}: {error}") from None
        assert isinstance(found, Duration)


# EnvironmentSettings

MODE = "execution.runtime-mode"
CATALOG, DATABASE = "table.builtin-catalog-name", "table.builtin-database-name"


def mode_of(configuration: Configuration) -> str:
    """STREAMING, BATCH or AUTOMATIC."""
    return configuration.get_string(MODE, "STREAMING").upper()


class EnvironmentSettings(HasOlderNames, metaclass=OlderStatics):
    """Settings of a table environment: mode, names of the built-in catalog and database, configuration.

    >>> settings = EnvironmentSettings.new_instance().in_streaming_mode().with_built_in_catalog_name("shop").build()
    >>> settings.is_streaming_mode(), settings.get_built_in_catalog_name()
    (True, 'shop')
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    class Builder(HasOlderNames):
        """Makes settings; streaming mode unless it says otherwise."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            return self._set(MODE, "BATCH")

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            return self._set(MODE, "STREAMING")

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            return self._set(CATALOG, built_in_catalog_name)

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            return self._set(DATABASE, built_in_database_name)

        def _set(self, key: str, value: str) -> EnvironmentSettings.Builder:
            self._configuration.set_string(key, value)
            return self

        def build(self) -> EnvironmentSettings:
            return EnvironmentSettings(Configuration(self._configuration))

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begins settings; ``build()`` ends them."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings of streaming mode.

        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        """
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings of batch mode.

        >>> EnvironmentSettings.in_batch_mode().is_streaming_mode()
        False
        """
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def is_streaming_mode(self) -> bool:
        """Whether queries run as streams."""
        return mode_of(self._configuration) == "STREAMING"

    def get_built_in_catalog_name(self) -> str:
        """The name of the catalog that is there from the start."""
        return self._configuration.get_string(CATALOG, "default_catalog")

    def get_built_in_database_name(self) -> str:
        """The name of the database that is there from the start."""
        return self._configuration.get_string(DATABASE, "default_database")

    def get_configuration(self) -> Configuration:
        """The settings as a configuration."""
        return self._configuration


# EXPLAIN as text


def explain(plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> str:
    """The plans as they were written, as they are run, and how Spark runs them."""
    sections = {"Abstract Syntax Tree": "\n\n".join(map(plan_text, plans))}
    sections |= session.engine.explain(plans, session, details)
    return "\n".join(f"== {title} ==\n{text}\n" for title, text in sections.items())


# The engine


class Engine(Protocol):
    """Runs, explains and converts the plans of a session."""

    def execute(self, plans: Sequence[Rel], session: Session, job_name: str | None = None) -> TableResult:
        """Submit one job for these plans: one query, whose rows are given as they come, or sinks.

        :raises NotImplementedError: a plan has no form in this mode.
        """

    def explain(self, plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> dict[str, str]:
        """How the plans would run: texts by their titles."""

    def to_data_stream(self, plan: Rel, session: Session, **how: Any) -> DataStream | None:
        """The rows of a plan as a DataStream of the session's program; a plan that ends in a sink gives none."""

    def from_spark(self, frame: Any) -> Rel:
        """The rows of a DataFrame of Spark as a plan.

        :raises TableException: this engine cannot read it.
        """

    def to_spark(self, plan: Rel, session: Session) -> Any:
        """The rows of a plan as a DataFrame of Spark.

        :raises TableException: this engine cannot make one.
        """


# Session

DYNAMIC_OPTIONS = "table.dynamic-table-options.enabled"


class Session:
    """A ``Resolver`` over catalogs and functions. It knows neither the environment nor a ``Table``.

    :ivar streaming: the mode; batch otherwise.
    :ivar streams: the program, and where it runs.
    :ivar unexecuted: inserts that were described and not run, for whoever runs them all at once.
    """

    def __init__(
        self,
        settings: EnvironmentSettings,
        streams: StreamExecutionEnvironment,
        engine_of: Callable[[bool], Engine],
    ) -> None:
        """:param engine_of: the engine of streaming mode (True) or batch mode, asked when it is needed."""
        self._engine_of = engine_of
        self.streaming = settings.is_streaming_mode()
        self.streams = streams
        streams._mode_of_tables = mode_of(streams._configuration)
        self.config = TableConfig(Configuration(settings.get_configuration()), streams._configuration)
        name, database = settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        self.catalogs: CatalogManager = CatalogManager(name, GenericInMemoryCatalog(name, database))
        self.functions: Functions = Functions(self.catalogs)
        self.connectors = Connectors(EVERYWHERE)
        self.unexecuted: list[Sink] = []
        self.reads_files = True
        """whether columns may be inferred, and files be named in queries: servers forbid it"""

    def runs(self, plans: Iterable[Sink]) -> None:
        """Take inserts off the list of inserts that were not run: they belong to a job or a statement set now."""
        self.unexecuted = [each for each in self.unexecuted if not any(each is plan for plan in plans)]

    def configured_streams(self) -> StreamExecutionEnvironment:
        """The environment that runs the program, with what the table environment sets: parallelism.default and others.

        :raises TableException: its mode was set to another one since.
        """
        streams, own = self.streams, self.config.get_configuration()
        mode = mode_of(streams._configuration)
        if streams._mode_of_tables is not None and mode not in (streams._mode_of_tables, mode_of(own)):
            raise problem(
                f"{MODE} is {mode} since the table environment was made for {mode_of(own)}: set it before "
                f"StreamTableEnvironment.create(env)"
            )
        streams.configure(own)
        streams._mode_of_tables = mode_of(streams._configuration)
        return streams

    @property
    def engine(self) -> Engine:
        return self._engine_of(self.streaming)

    @property
    def zone(self) -> str:
        return self.config.get_local_timezone()

    @property
    def matches_as_standard(self) -> bool:
        return MATCH_SEMANTICS.read(self.config.to_map()).lower() == "standard"

    def statement(self, text: str) -> Statement:
        """One statement, read in the session's dialect of SQL.

        :raises SqlError: it cannot be read.
        :raises NotImplementedError: a dialect other than Flink's default one.
        """
        statement = parse_statement(text)
        dialect = self.config.get_sql_dialect()
        if dialect is not SqlDialect.DEFAULT and not isinstance(statement, (Set, Reset)):
            raise not_yet(f"SQL dialect {dialect.name}", "the default dialect, Flink SQL")
        return statement

    def query_plan(self, text: str) -> Rel:
        """The plan of a query.

        :raises TableException: another statement.
        """
        statement = self.statement(text)
        if not isinstance(statement, Query):
            raise problem(f"sql_query takes a query, SELECT or VALUES; run {statement.first_words} with execute_sql")
        return bind_query(statement.tree, self)

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        self._check_hint(options)
        found = self.catalogs.find_table(path)
        if found is None:
            return None
        if found.table.is_view:
            if options:
                raise problem(f"the hint OPTIONS takes tables: {found.identifier} is a view, whose query can have it")
            catalog, database, name = found.identifier.to_list()
            return TableInfo((catalog, database, name), self._view(found))
        return source_info(found.identifier, found.table, options, self)

    def _view(self, found: FoundTable) -> Rel:
        """The plan of a view; its columns have the names that the view gives."""
        from millrace.table.sql.binding import bind_query
        from millrace.table.sql.grammar.parser import parse_query

        if found.table.plan is not None:
            return found.table.plan
        plan = bind_query(parse_query(found.table.expanded_query), self)
        names = [column.name for column in found.table.get_unresolved_schema().columns]
        return renamed(plan, names) if len(names) == len(plan.schema) else plan

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        self._check_hint(options)
        found = self.catalogs.find_table(path)
        return None if found is None else sink_info(found.identifier, found.table, options, self)

    def _check_hint(self, options: Mapping[str, str]) -> None:
        if options and self.config.get(DYNAMIC_OPTIONS, "true").lower() != "true":
            raise problem(f"the hint OPTIONS is switched off: {DYNAMIC_OPTIONS} is false")

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        found = self.functions.find(path)
        return None if found is None else user_function(path[-1], *found)

    def file(self, path: str, format: str | None) -> TableInfo:
        if not self.reads_files:
            raise problem(f"queries of files by their path are switched off here: {READS_FILES} is false")
        catalog = self.catalogs.current_catalog
        identifier = ObjectIdentifier(catalog, self.catalogs.current_database, path)
        table = with_columns(identifier, table_of_file(path, format), self)
        assert table is not None
        return source_info(identifier, table, {}, self)

    def table_names(self) -> Iterable[str]:
        return self.catalogs.list_tables()

    def function_names(self) -> Iterable[str]:
        return self.functions.list_user_defined()


# INSERT of a Table


def sink_plan(
    plan: Rel, target: str | TableDescriptor, session: Session, overwrite: bool, columns: Sequence[str] | None = None
) -> Sink:
    """
    :param columns: of the target, those that the plan's columns go into; the others are NULL.
    :raises TableException: there is no such table, or it does not take these rows.
    """
    if isinstance(target, TableDescriptor):
        identifier, described = unnamed(target, session)
    else:
        found = session.catalogs.find_table(split_path(target))
        if found is None:
            raise problem(
                f"there is no table {target} to insert into{did_you_mean(target, session.catalogs.list_tables())}"
            )
        identifier, described = found.identifier, found.table
    try:
        info = sink_info(identifier, described, {}, session)
        made = insert_plan(plan, info, columns, overwrite=overwrite)
        # A sink finds its key by name.
        return replace(made, input=renamed(made.input, [column.name for column in info.columns]))
    except SqlError as error:
        raise problem(error.message) from None
