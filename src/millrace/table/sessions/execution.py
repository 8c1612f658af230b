"""Where plans are run: the one seam between the Table API and the engines.

Engines are looked up by name when something is run, since they lie above this package: batch in
``millrace.spark.tables.execute``, streaming in ``millrace.table.planner.run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from millrace.common.types import row_of
from millrace.datastream.settings.defaults import Submission, get_submitter
from millrace.relational import types as t
from millrace.relational.nodes import Field, Rel, Sink
from millrace.relational.python_rows import python_rows
from millrace.relational.rows import Rows
from millrace.table.not_yet import not_yet
from millrace.table.queries.problems import problem
from millrace.table.table_config import COLUMN_WIDTH, JOB_NAME
from millrace.table.table_result import MAX_WIDTH, TableResult

if TYPE_CHECKING:
    from millrace.common.jobs.job_client import JobClient
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.table.table_environment import TableEnvironment

_BATCH = "millrace.spark.tables.execute"
_CONVERSIONS = "millrace.spark.tables.conversions"
_STREAMING = "millrace.table.planner.run"
_STREAMS = "millrace.table.planner.gathered_streams"


def execute(plans: Sequence[Rel], environment: TableEnvironment, job_name: str | None = None) -> TableResult:
    """Run plans as one job: one query, whose rows are given as they come, or sinks.

    :raises NotImplementedError: a plan has no form in this mode.
    """
    if not environment._is_streaming:
        return _batch(plans, environment, job_name)
    result = _engine(_STREAMING, "a streaming query").execute(plans, environment, job_name)
    assert isinstance(result, TableResult)
    return result


def optimised(plans: Sequence[Rel], environment: TableEnvironment) -> list[Rel]:
    """Streaming plans after the rules."""
    found: list[Rel] = _engine(_STREAMING, "a streaming query").optimised(plans, environment)
    return found


def execute_optimised(plans: Sequence[Rel], environment: TableEnvironment) -> TableResult:
    """Run streaming plans that have been through the rules."""
    result = _engine(_STREAMING, "a streaming query").submit(plans, environment)
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


def batch_context(environment: TableEnvironment, job_name: str = "collect") -> Any:
    """What ``millrace.spark.tables`` needs to run or explain a plan of this environment."""
    config = environment.get_config()
    session = environment._spark_session()
    return _engine(_BATCH, "a batch query").batch_context(
        session,
        config.get_local_timezone(),
        config.to_map(),
        environment.get_current_database(),
        needs=environment._stream_environment._dependencies,
        job_name=job_name,
        streams=import_module(_STREAMS).GatheredStreams(environment),
    )


def spark_plan(plan: Rel, environment: TableEnvironment, mode: str) -> str:
    """How Spark runs a plan in batch mode.

    :param mode: simple, or cost: with the sizes that Spark expects.
    """
    text: str = _engine(_BATCH, "a batch query").explain(plan, batch_context(environment), mode)
    return text


def from_spark(frame: Any, environment: TableEnvironment) -> Rel:
    """The rows of a DataFrame of Spark as a plan."""
    if environment._is_streaming:
        raise problem(
            "from_spark() needs batch mode, EnvironmentSettings.in_batch_mode(): in streaming mode read the data "
            "source itself, with connector 'spark' or 'filesystem'"
        )
    plan: Rel = _engine(_CONVERSIONS, "a table of a DataFrame").scan_of_frame(frame)
    return plan


def to_spark(plan: Rel, environment: TableEnvironment) -> Any:
    """The rows of a plan as a DataFrame of Spark."""
    if environment._is_streaming:
        raise problem(
            "to_spark() needs batch mode, EnvironmentSettings.in_batch_mode(): in streaming mode write into a table of "
            "connector 'filesystem', which Spark can read"
        )
    return _engine(_CONVERSIONS, "a DataFrame of a table").frame_of_table(plan, batch_context(environment))


def spark_session(stream_environment: StreamExecutionEnvironment) -> Any:
    """The session of an environment: the user's, the active one, or a new one."""
    sessions = _engine("millrace.spark.sessions.session", "Spark")
    configuration = stream_environment._configuration.to_dict()
    wishes = sessions.SessionWishes(stream_environment.get_parallelism(), configuration, computes=True)
    return sessions.workplace(stream_environment._spark, wishes).session


def _batch(plans: Sequence[Rel], environment: TableEnvironment, job_name: str | None) -> TableResult:
    engine = _engine(_BATCH, "a batch query")
    context = batch_context(environment, name_of_job(plans, environment, job_name))
    if isinstance(plans[0], Sink):
        client = _submit(lambda: engine.start_inserts(plans, context), False)
        return sink_result(plans, client, lambda: [-1 if count is None else count for count in client.outcome()])
    client = _submit(lambda: engine.start_query(plans[0], context), True)
    return query_result(plans[0], _batches(client), environment, job_client=client, close=client.discard)


def batches_of(plan: Rel, environment: TableEnvironment) -> list[Rows]:
    """The rows that a plan has in batch mode."""
    found = _engine(_BATCH, "a batch query").collect(plan, batch_context(environment))
    return list(map(Rows, found.to_batches()))


def _submit(start: Callable[[], Any], collecting: bool) -> Any:
    return get_submitter()(Submission(_no_plan, start, collecting))


def _no_plan() -> str:
    raise problem("a batch query has no plan of Flink's operators: EXPLAIN shows the plan of Spark")


def _batches(client: Any) -> Iterator[Rows]:
    yield from map(Rows, client.outcome().to_batches())


def name_of_job(plans: Sequence[Rel], environment: TableEnvironment, wanted: str | None = None) -> str:
    """The wanted name, that of the session (``pipeline.name``), or what the plans say."""
    sinks = [".".join(plan.path) for plan in plans if isinstance(plan, Sink)]
    own = f"insert-into_{','.join(sinks)}" if sinks else "collect"
    return wanted or environment.get_config().to_map().get(JOB_NAME) or own


def query_result(plan: Rel, batches: Iterator[Rows], environment: TableEnvironment, **more: Any) -> TableResult:
    """The result of a query, printed as its types and the session's settings say.

    :param batches: may be made while they are read. They are read once: as rows, or as they are (``to_pandas``).
    """
    config = environment.get_config()
    return TableResult(
        plan.schema,
        (row for batch in batches for row in python_rows(batch, plan.schema)),
        batches=batches,
        layout="types",
        with_kinds=environment._is_streaming,
        zone=config.get_local_timezone(),
        max_width=int(config.get(COLUMN_WIDTH, str(MAX_WIDTH))),
        **more,
    )


def sink_result(plans: Sequence[Rel], client: Any, counts: Callable[[], Sequence[int]]) -> TableResult:
    """The result of INSERT.

    :param counts: gives for every table the number of rows, -1 if it is not known.
    """
    names = [".".join(plan.path) for plan in plans if isinstance(plan, Sink)]
    columns = tuple(Field(name, t.BigIntType()) for name in names)
    rows = (row_of(list(each()), names) for each in [counts])
    return TableResult(columns, rows, job_client=client, wait=lambda timeout: _wait(client, timeout))


def _wait(client: JobClient, timeout: float | None) -> None:
    client.get_job_execution_result().result(timeout)
