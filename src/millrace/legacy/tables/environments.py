"""``BatchTableEnvironment``, and what table environments did under other names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from millrace.common.jobs.job_execution_result import JobExecutionResult
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.not_yet import not_yet
from millrace.legacy.tables.csv_tables import FileTable
from millrace.legacy.tables.settings import with_table_config
from millrace.legacy.telling import tell
from millrace.table.environment import TableEnvironment
from millrace.table.settings.environment_settings import EnvironmentSettings
from millrace.table.settings.table_config import TableConfig
from millrace.table.statement_runners.statements import insert_plans
from millrace.table.stream_environment import StreamTableEnvironment
from millrace.table.table import Table
from millrace.table.table_pipeline import TablePipeline
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.legacy.dataset import ExecutionEnvironment
    from millrace.legacy.tables.connecting import ConnectTableDescriptor
    from millrace.legacy.tables.descriptors import ConnectorDescriptor
    from millrace.legacy.tables.queries import QueryConfig

__all__ = ["BatchTableEnvironment"]


class BatchTableEnvironment(TableEnvironment):
    """Today's ``TableEnvironment`` in batch mode."""

    @staticmethod
    def create(  # type: ignore[override]
        execution_environment: ExecutionEnvironment | None = None,
        table_config: TableConfig | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> BatchTableEnvironment:
        tell("BatchTableEnvironment.create()", "TableEnvironment.create(EnvironmentSettings.in_batch_mode())")
        settings = with_table_config(environment_settings, table_config) or EnvironmentSettings.in_batch_mode()
        if environment_settings is not None and environment_settings.is_streaming_mode():
            raise problem("BatchTableEnvironment takes settings in batch mode: in_batch_mode()")
        configuration = settings.get_configuration()
        batch = EnvironmentSettings.new_instance().with_configuration(configuration).in_batch_mode().build()
        streams = StreamExecutionEnvironment(batch.get_configuration())
        if execution_environment is not None:
            execution_environment.give_settings(streams)
        return BatchTableEnvironment(batch, streams)


def set_parallelism(t_env: TableEnvironment, parallelism: int) -> None:
    """How many subtasks each operator has."""
    tell("TableEnvironment.set_parallelism()", 'get_config().set("parallelism.default", ...)')
    t_env._session.streams.set_parallelism(parallelism)


# -- tables and functions by name ---------------------------------------------------------------------------------


def register_table(t_env: TableEnvironment, name: str, table: Table) -> None:
    tell("TableEnvironment.register_table()", "create_temporary_view(name, table)")
    t_env.create_temporary_view(name, table)


def register_function(t_env: TableEnvironment, name: str, function: Any) -> None:
    from millrace.legacy.tables.temporal import TemporalTableFunction

    tell("TableEnvironment.register_function()", "create_temporary_function(name, function)")
    if isinstance(function, TemporalTableFunction):
        function.register(name, t_env)
    else:
        t_env.create_temporary_system_function(name, function)


def register_java_function(t_env: TableEnvironment, name: str, function_class_name: str) -> NoReturn:
    raise not_yet("TableEnvironment.register_java_function", "functions in Python, made with udf() and its like")


def register_table_source(t_env: TableEnvironment, name: str, table_source: FileTable) -> None:
    tell("TableEnvironment.register_table_source()", "execute_sql('CREATE TABLE ...')")
    _create(t_env, name, table_source)


def register_table_sink(t_env: TableEnvironment, name: str, table_sink: FileTable) -> None:
    tell("TableEnvironment.register_table_sink()", "execute_sql('CREATE TABLE ...')")
    _create(t_env, name, table_sink)


def from_table_source(t_env: TableEnvironment, table_source: FileTable) -> Table:
    tell("TableEnvironment.from_table_source()", "from_descriptor(TableDescriptor...)")
    return t_env.from_descriptor(_file(table_source).descriptor())


def _create(t_env: TableEnvironment, name: str, table: FileTable) -> None:
    t_env.create_temporary_table(name, _file(table).descriptor())


def _file(table: FileTable) -> FileTable:
    if not isinstance(table, FileTable):
        raise problem(
            f"{type(table).__name__} is no CsvTableSource or CsvTableSink: other tables are CREATE TABLE statements"
        )
    return table


def scan(t_env: TableEnvironment, *table_path: str) -> Table:
    tell("TableEnvironment.scan()", "from_path(name)")
    return t_env.from_path(".".join(f"`{part}`" for part in table_path))


def connect(t_env: TableEnvironment, connector_descriptor: ConnectorDescriptor) -> ConnectTableDescriptor:
    from millrace.legacy.tables.connecting import ConnectTableDescriptor

    tell("TableEnvironment.connect()", "execute_sql('CREATE TABLE ...'), or create_temporary_table with a descriptor")
    return ConnectTableDescriptor(t_env, connector_descriptor)


# -- running ------------------------------------------------------------------------------------------------------


def insert_into(t_env: TableEnvironment, target_path: str, table: Table) -> None:
    """To be run by ``execute``."""
    tell("TableEnvironment.insert_into(path, table)", "table.execute_insert(path)")
    table.insert_into(target_path)


def sql_update(t_env: TableEnvironment, stmt: str, query_config: QueryConfig | None = None) -> None:
    """An INSERT, to be run by ``execute``; another statement runs at once."""
    from millrace.table.sql.parser import parse_statement
    from millrace.table.sql.statements import Insert

    tell("TableEnvironment.sql_update()", "execute_sql(statement)")
    if query_config is not None:
        query_config.settle(t_env)
    if isinstance(parse_statement(stmt), Insert):
        t_env._session.unexecuted += insert_plans(stmt, t_env._session)
    else:
        t_env.execute_sql(stmt)


def execute(t_env: TableEnvironment, job_name: str = "") -> JobExecutionResult:
    """Run all inserts that are open as one job, with the streams of the program, and wait for its end."""
    tell("TableEnvironment.execute()", "table.execute_insert(...), a StatementSet, or execute_sql('INSERT ...')")
    session = t_env._session
    plans, session.unexecuted = session.unexecuted, []
    if isinstance(t_env, StreamTableEnvironment) and session.streams._program._nodes:
        for plan in plans:
            session.engine.to_data_stream(plan, session)
        return session.streams.execute(job_name or None)
    if not plans:
        raise problem("there is nothing to execute: insert_into() or sql_update() come first")
    client = session.engine.execute(plans, session, job_name or None).get_job_client()
    assert client is not None, "a job writes these inserts"
    return client.get_job_execution_result().result()


def explain(t_env: TableEnvironment, table: Table | None = None, extended: bool = False) -> str:
    """The plan of a table, or of all inserts that are open."""
    tell("TableEnvironment.explain()", "table.explain(), or explain_sql(statement)")
    if table is not None:
        return table.explain()
    session = t_env._session
    return "\n".join(TablePipeline(plan, session).explain() for plan in session.unexecuted)
