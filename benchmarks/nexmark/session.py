"""The tables, the view and the function that the queries use, in a session of either mode."""

from __future__ import annotations

from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.tables import BLOCK, COLUMNS, SIDE_DDL, NexmarkFactory, SideFactory, ddl
from benchmarks.sides.work import PARALLELISM
from millrace.table import EnvironmentSettings, Table, TableEnvironment
from millrace.table.sessions.table_info import register_factory
from millrace.table.udf import udf

BID_NOW = "CREATE TEMPORARY VIEW bid_now AS SELECT *, PROCTIME() AS p FROM bid"


def count_char(text: str, char: str) -> int:
    """How often a letter occurs; the function of the user in q14."""
    return text.count(char)


def environment(settings: Settings, streaming: bool = True, block: int = BLOCK) -> TableEnvironment:
    """A session in which all queries can be run.

    :param block: events whose rows are made at once.
    """
    register_factory(NexmarkFactory)
    register_factory(SideFactory)
    mode = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    session = TableEnvironment.create(mode)
    session.get_config().set_local_timezone("UTC")
    session.get_config().set("parallelism.default", str(PARALLELISM))
    for kind in COLUMNS:
        session.execute_sql(ddl(kind, settings, block))
    session.execute_sql(SIDE_DDL)
    session.execute_sql(BID_NOW)
    session.create_temporary_system_function("count_char", udf(count_char, result_type="BIGINT"))
    return session


def into_blackhole(session: TableEnvironment, table: Table, name: str) -> None:
    """Run a query to its end; nobody wants its rows."""
    columns = sink_columns(table)
    session.execute_sql(f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ('connector' = 'blackhole')")
    table.execute_insert(name).wait()


def sink_columns(table: Table) -> str:
    """The columns of a table that takes a query's rows, as DDL has them."""
    schema = table.get_schema()
    columns = zip(schema.get_field_names(), schema.get_field_data_types())
    return ", ".join(f"`{name}` {str(data_type).replace(' NOT NULL', '')}" for name, data_type in columns)
