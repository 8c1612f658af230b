"""Where plans are run: the one seam between the Table API and the engines.

Engines are looked up by name when something is run, since they lie above this package: batch in
``millrace.spark.tables.execute``, streaming in ``millrace.table.planner.run``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row, row_of
from millrace.relational import types as t
from millrace.relational.nodes import Field, Rel, Sink
from millrace.relational.python_rows import python_rows
from millrace.relational.rows import Rows
from millrace.table.not_yet import not_yet
from millrace.table.table_config import COLUMN_WIDTH
from millrace.table.table_result import MAX_WIDTH, TableResult

if TYPE_CHECKING:
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.table.table_environment import TableEnvironment

_BATCH = "millrace.spark.tables.execute"
_STREAMING = "millrace.table.planner.run"


def execute(plans: Sequence[Rel], environment: TableEnvironment, job_name: str | None = None) -> TableResult:
    """Run plans as one job: one query, whose rows are given as they come, or sinks.

    :raises NotImplementedError: a plan has no form in this mode.
    """
    if not environment._is_streaming:
        return _batch(plans, environment)
    result = _engine(_STREAMING, "a streaming query").execute(plans, environment, job_name)
    assert isinstance(result, TableResult)
    return result


def to_data_stream(plan: Rel, environment: TableEnvironment, **how: Any) -> Any:
    """The rows of a plan as a DataStream of the environment's program."""
    return _engine(_STREAMING, "a conversion to a DataStream").to_data_stream(plan, environment, **how)


def _engine(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise not_yet(what, "batch mode, EnvironmentSettings.in_batch_mode()") from None


def batch_context(environment: TableEnvironment) -> Any:
    """What ``millrace.spark.tables`` needs to run or explain a plan of this environment."""
    config = environment.get_config()
    session = environment._spark_session()
    return _engine(_BATCH, "a batch query").batch_context(
        session,
        config.get_local_timezone(),
        config.to_map(),
        environment.get_current_database(),
    )


def spark_session(stream_environment: StreamExecutionEnvironment) -> Any:
    """The session of an environment: the user's, the active one, or a new one."""
    sessions = _engine("millrace.spark.session", "Spark")
    wishes = sessions.SessionWishes(stream_environment.get_parallelism(), stream_environment._configuration.to_dict())
    return sessions.workplace(stream_environment._spark, wishes).session


def _batch(plans: Sequence[Rel], environment: TableEnvironment) -> TableResult:
    engine = _engine(_BATCH, "a batch query")
    context = batch_context(environment)
    if isinstance(plans[0], Sink):
        written = engine.write_all(plans, context)
        return sink_result(plans, [-1 if count is None else count for count in written])
    return query_result(plans[0], rows_of(engine.collect(plans[0], context), plans[0]), environment)


def query_result(plan: Rel, rows: Iterator[Row], environment: TableEnvironment, **more: Any) -> TableResult:
    """The result of a query, printed as its types and the session's settings say."""
    config = environment.get_config()
    return TableResult(
        plan.schema,
        rows,
        layout="types",
        with_kinds=environment._is_streaming,
        zone=config.get_local_timezone(),
        max_width=int(config.get(COLUMN_WIDTH, str(MAX_WIDTH))),
        **more,
    )


def sink_result(plans: Sequence[Rel], counts: Sequence[int], **more: Any) -> TableResult:
    """The result of INSERT: for every table the number of rows, -1 if nobody knows."""
    names = [".".join(plan.path) for plan in plans if isinstance(plan, Sink)]
    columns = tuple(Field(name, t.BigIntType()) for name in names)
    return TableResult(columns, [row_of(list(counts), names)], **more)


def rows_of(table: Any, plan: Rel) -> Iterator[Row]:
    """The rows of an Arrow table with the columns of a plan."""
    for batch in table.to_batches():
        yield from python_rows(Rows(batch), plan.schema)
