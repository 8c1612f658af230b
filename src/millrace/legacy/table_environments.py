"""``BatchTableEnvironment``, and deprecated methods and settings of table environments.

Settings are planners, idle state with two times, ``StreamQueryConfig``, and whole configurations.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from millrace.common.configuration import Configuration
from millrace.common.jobs import JobExecutionResult
from millrace.common.time import TimeSpan, to_millis
from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.csv_tables import FileTable
from millrace.legacy.warning import tell
from millrace.table.environment import TableEnvironment
from millrace.table.sessions.session import EnvironmentSettings, TableConfig
from millrace.table.statement_runners.statements import insert_plans
from millrace.table.stream_environment import StreamTableEnvironment
from millrace.table.table import Table
from millrace.table.table_pipeline import TablePipeline
from millrace.table.values.program_errors import problem
from millrace.util.not_yet import not_yet

if TYPE_CHECKING:
    from millrace.legacy.dataset import ExecutionEnvironment
    from millrace.legacy.descriptors import ConnectorDescriptor, ConnectTableDescriptor


class QueryConfig:
    """Settings of one query; they are applied to the table environment."""

    def settle(self, t_env: TableEnvironment) -> None:
        """Apply these settings to a table environment."""


class BatchQueryConfig(QueryConfig):
    """The settings of a query in batch mode: there are none."""


class StreamQueryConfig(QueryConfig):
    """The shortest and the longest time that unused state is retained."""

    def __init__(self) -> None:
        tell("StreamQueryConfig", "t_env.get_config().set_idle_state_retention(datetime.timedelta(...))")
        self._times: tuple[TimeSpan, TimeSpan] | None = None

    def with_idle_state_retention_time(self, min_time: TimeSpan, max_time: TimeSpan) -> StreamQueryConfig:
        """State that is not used for the least time may go."""
        self._times = (min_time, max_time)
        return self

    def get_min_idle_state_retention_time(self) -> int:
        """The shortest retention in ms."""
        return self._millis(0)

    def get_max_idle_state_retention_time(self) -> int:
        """The longest retention in ms."""
        return self._millis(1)

    def _millis(self, place: int) -> int:
        from millrace.common.time import to_millis

        return 0 if self._times is None else to_millis(self._times[place])

    def settle(self, t_env: TableEnvironment) -> None:
        if self._times is not None:
            config: Any = t_env.get_config()
            config.set_idle_state_retention_time(*(datetime.timedelta(milliseconds=self._millis(at)) for at in (0, 1)))


def query_config(t_env: TableEnvironment) -> QueryConfig:
    """The settings of a query of this environment."""
    return StreamQueryConfig() if t_env._session.streaming else BatchQueryConfig()


Builder = EnvironmentSettings.Builder
_PLANNER = "there is one planner: leave it out"
_LEAST_BETWEEN = datetime.timedelta(minutes=5)


def use_blink_planner(builder: Builder) -> Builder:
    tell("EnvironmentSettings.Builder.use_blink_planner()", _PLANNER)
    return builder


def use_old_planner(builder: Builder) -> Builder:
    tell("EnvironmentSettings.Builder.use_old_planner()", _PLANNER)
    return builder


def use_any_planner(builder: Builder) -> Builder:
    tell("EnvironmentSettings.Builder.use_any_planner()", _PLANNER)
    return builder


def set_configuration(config: TableConfig, configuration: Configuration) -> None:
    tell("TableConfig.set_configuration()", "TableConfig.set(key, value), or add_configuration()")
    config.add_configuration(configuration)


def set_idle_state_retention_time(config: TableConfig, min_time: TimeSpan, max_time: TimeSpan) -> None:
    """Set the retention of unused state to ``min_time``; it is removed then, and so before ``max_time``."""
    tell("TableConfig.set_idle_state_retention_time(min, max)", "set_idle_state_retention(datetime.timedelta(...))")
    least, most = (datetime.timedelta(milliseconds=to_millis(time)) for time in (min_time, max_time))
    if most - least < _LEAST_BETWEEN and (least, most) != (datetime.timedelta(0),) * 2:
        raise problem(
            f"set_idle_state_retention_time: between {least} and {most} must be at least 5 minutes, as in Flink"
        )
    config.set_idle_state_retention(least)


def get_min_idle_state_retention_time(config: TableConfig) -> int:
    """The shortest retention of unused state in ms."""
    tell("TableConfig.get_min_idle_state_retention_time()", "get_idle_state_retention()")
    return config.get_idle_state_retention() // datetime.timedelta(milliseconds=1)


def get_max_idle_state_retention_time(config: TableConfig) -> int:
    """The longest retention of unused state in ms: one and a half times the shortest one, as in Flink since 1.11."""
    tell("TableConfig.get_max_idle_state_retention_time()", "get_idle_state_retention()")
    return get_min_idle_state_retention_time(config) * 3 // 2


def set_null_check(config: TableConfig, null_check: bool) -> None:
    """Accepted without effect: NULL is handled in every expression."""
    tell("TableConfig.set_null_check()", "leave it out: NULL is always handled")
    if not null_check:
        raise problem("TableConfig.set_null_check(False): expressions always handle NULL; leave it out")


def get_null_check(config: TableConfig) -> bool:
    """Always True: NULL is handled in every expression."""
    return True


def set_decimal_context(config: TableConfig, precision: int, rounding_mode: str) -> None:
    """Accepted without effect: results have SQL's digits, and are rounded half up."""
    tell("TableConfig.set_decimal_context()", "leave it out: results have the digits of their types, rounded half up")
    if rounding_mode != "HALF_UP":
        raise problem(f"TableConfig.set_decimal_context(): DECIMALs are rounded HALF_UP, not {rounding_mode}")


def get_decimal_context(config: TableConfig) -> tuple[int, str]:
    """Digits and rounding mode."""
    return 34, "HALF_UP"


def from_configuration(settings: type[EnvironmentSettings], config: Configuration) -> EnvironmentSettings:
    tell("EnvironmentSettings.from_configuration()", "EnvironmentSettings.new_instance().with_configuration(...)")
    return settings.new_instance().with_configuration(config).build()


def to_configuration(settings: EnvironmentSettings) -> Configuration:
    tell("EnvironmentSettings.to_configuration()", "get_configuration()")
    return settings.get_configuration()


def is_blink_planner(settings: EnvironmentSettings) -> bool:
    """Always True: the only planner is the one that Flink 1.13 called Blink."""
    return True


def with_table_config(settings: EnvironmentSettings | None, config: TableConfig | None) -> EnvironmentSettings | None:
    """The settings of an environment with those of a TableConfig that was passed, too."""
    if config is None:
        return settings
    tell("an environment created with a TableConfig", "EnvironmentSettings.new_instance().with_configuration(...)")
    both = Configuration(settings.get_configuration()) if settings is not None else Configuration()
    for key, value in config.to_map().items():
        both.set_string(key, value)
    return EnvironmentSettings(both)


def todays_arguments(
    function: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of ``create(env, table_config, environment_settings)`` as those of ``create(env,
    environment_settings)``."""
    given = dict(zip(("stream_execution_environment", "table_config", "environment_settings"), args)) | keywords
    settings = with_table_config(given.get("environment_settings"), given.get("table_config"))
    return (given.get("stream_execution_environment"), settings), {}


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
    from millrace.legacy.table_methods import TemporalTableFunction

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
    from millrace.legacy.descriptors import ConnectTableDescriptor

    tell("TableEnvironment.connect()", "execute_sql('CREATE TABLE ...'), or create_temporary_table with a descriptor")
    return ConnectTableDescriptor(t_env, connector_descriptor)


# -- running ------------------------------------------------------------------------------------------------------


def insert_into(t_env: TableEnvironment, target_path: str, table: Table) -> None:
    """Add an INSERT, which ``execute`` runs."""
    tell("TableEnvironment.insert_into(path, table)", "table.execute_insert(path)")
    table.insert_into(target_path)


def sql_update(t_env: TableEnvironment, stmt: str, query_config: QueryConfig | None = None) -> None:
    """Add an INSERT, which ``execute`` runs; other statements run at once."""
    from millrace.table.sql.grammar.parser import parse_statement
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
