"""``Session``: what SQL and the Table API find by name, the settings, the program that tables are part of, and the
engine that runs plans (one for streaming, one for batch): the one seam between the Table API and what executes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from millrace.common.configuration import Configuration
from millrace.configuration.own_options import MATCH_SEMANTICS, default_of
from millrace.relational.nodes import Rel, Sink
from millrace.relational.rules.plan_text import plan_text
from millrace.table.catalogs.descriptors import TableDescriptor
from millrace.table.catalogs.manager import CatalogManager, FoundTable
from millrace.table.catalogs.memory_catalog import GenericInMemoryCatalog
from millrace.table.catalogs.objects import ObjectIdentifier, split_path
from millrace.table.functions.function_catalog import Functions
from millrace.table.queries.projection import renamed
from millrace.table.sessions.factories import EVERYWHERE, Connectors
from millrace.table.sessions.table_info import READS_FILES, sink_info, source_info, table_of_file, unnamed, with_columns
from millrace.table.sessions.table_settings import MODE, EnvironmentSettings, ExplainDetail, TableConfig, mode_of
from millrace.table.sql.binding.calls import user_function
from millrace.table.sql.binding.insert import insert_plan
from millrace.table.sql.binding.scope import SinkInfo, TableInfo, UserFunction
from millrace.table.sql.text import SqlError
from millrace.table.values.program_errors import problem
from millrace.util.names import did_you_mean

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment
    from millrace.table.sessions.table_result import TableResult


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
        """These inserts are no longer open: a job or a statement set has them."""
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
        return self.config.get(MATCH_SEMANTICS.key, default_of(MATCH_SEMANTICS)).lower() == "standard"

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
