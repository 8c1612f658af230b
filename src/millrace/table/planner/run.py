"""Streaming plans run as jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.common.config_values import to_duration
from millrace.common.typeinfo import TypeInformation, Types
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import ROWTIME, Rel, Sink
from millrace.relational.rules.sharing import share_as_set
from millrace.relational.rules.streaming import optimise
from millrace.relational.types import RowField, RowType
from millrace.runtime.tables.base import Environment
from millrace.runtime.tables.stream_rows import ToElements
from millrace.table.changelog_mode import ChangelogMode
from millrace.table.planner.changes import ChangelogError, Changes, Key
from millrace.table.planner.computed_table import computed, row_by_row
from millrace.table.planner.nodes.sinks import upserts
from millrace.table.planner.plan import Options, Plan
from millrace.table.planner.streaming import add_to_program
from millrace.table.queries.problems import problem
from millrace.table.sessions import execution
from millrace.table.table_config import STATE_TTL
from millrace.table.table_result import TableResult
from millrace.table.values.stream_types import info_of_data_type

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment
    from millrace.spark.jobs.submit import SparkJobClient
    from millrace.table.schema import Schema
    from millrace.table.table_environment import TableEnvironment

IDLE_TIMEOUT = "table.exec.source.idle-timeout"
PHASES = "table.optimizer.agg-phase-strategy"
SPLIT_DISTINCT = "table.optimizer.distinct-agg.split.enabled"


def execute(plans: Sequence[Rel], environment: TableEnvironment, job_name: str | None = None) -> TableResult:
    """Submit one job for these plans: one query, whose rows are given as they come, or sinks.

    :raises ChangelogError: a sink would get changes that it can't take.
    :raises NotImplementedError: a plan has no streaming form.
    """
    return submit(optimised(plans, environment), environment, job_name)


def optimised(plans: Sequence[Rel], environment: TableEnvironment) -> list[Rel]:
    """The plans after the rules."""
    surroundings = surroundings_of(environment)
    return [optimise(plan, surroundings) for plan in plans]


def submit(plans: Sequence[Rel], environment: TableEnvironment, job_name: str | None = None) -> TableResult:
    """As ``execute``, for plans that have been through the rules."""
    client = start(plans, environment, execution.name_of_job(plans, environment, job_name))
    if isinstance(plans[0], Sink):
        return execution.sink_result(plans, client, lambda: [-1] * len(plans))
    return execution.query_result(plans[0], client.collected(), environment, job_client=client, close=client.discard)


def start(plans: Sequence[Rel], environment: TableEnvironment, job_name: str) -> SparkJobClient:
    """The client of a job of plans that have been through the rules."""
    streams = configured(environment)
    own = streams._program
    # What the user has added to the program runs with env.execute(), not with a table.
    streams._program = own.branch()
    try:
        add_to_program(plans, streams._program, options_of(environment))
        return streams._submit(job_name)
    finally:
        streams._program = own


def to_data_stream(
    plan: Rel,
    environment: TableEnvironment,
    mode: ChangelogMode | None = None,
    schema: Schema | None = None,
    type_info: TypeInformation | None = None,
    pairs: bool = False,
) -> DataStream | None:
    """The rows of a plan as a stream of the environment's program; a plan that ends in a sink gives none.

    :param mode: which changes the stream may have.
    :raises ChangelogError: the table has other ones.
    """
    from millrace.datastream import DataStream
    from millrace.datastream.data_stream import Port

    program, options = configured(environment)._program, options_of(environment)
    plans = optimised([plan], environment)
    if isinstance(plans[0], Sink):
        add_to_program(plans, program, options)
        return None
    (shared,) = share_as_set(plans, options.environment.configuration)
    made = Plan(program, options, [shared])
    mode, changes = mode or ChangelogMode.all(), made.changes(shared)
    if not environment._is_streaming and not row_by_row(shared):
        found = computed(plan, lambda: execution.batches_of(plan, environment))
        return to_data_stream(found, environment, mode, schema, type_info, pairs)
    if not changes.append_only and mode == ChangelogMode.insert_only():
        raise ChangelogError(f"the table has changes ({changes.cause}): use to_changelog_stream()")
    if mode == ChangelogMode.upsert():
        planned = upserts(made, shared, _upsert_key(shared, schema, changes), lambda rows: rows)
    else:
        planned = made.add(shared, True)
    rowtimes = [place for place, column in enumerate(plan.schema) if column.time == ROWTIME]
    config = ToElements(
        columns=plan.schema,
        time=rowtimes[0] if rowtimes else None,
        append_only=mode == ChangelogMode.insert_only(),
        pairs=pairs,
        **options.common,
    )
    ends = made.step("TableToDataStream", config, [(planned, None)], plan.schema, changes)
    row_type = type_info or _row_type(plan)
    info = Types.TUPLE([Types.BOOLEAN(), row_type]) if pairs else row_type
    for id in ends.ids:
        program.change(id, output_type=info)
    return DataStream(environment._stream_environment, tuple(map(Port, ends.ids)), info)


def _upsert_key(plan: Rel, schema: Schema | None, changes: Changes) -> Key | None:
    """What rows of a stream of upserts are known by; None: by the key that they have.

    :raises ChangelogError: they have none.
    """
    declared = None if schema is None else schema.primary_key
    if declared is not None:
        missing = [name for name in declared.columns if name not in plan.names]
        if missing:
            raise problem(f"the primary key '{missing[0]}' is no column of the table; it has {', '.join(plan.names)}")
        return tuple(plan.names.index(name) for name in declared.columns)
    if changes.append_only or changes.keys:
        return None
    raise ChangelogError(
        f"the table has changes ({changes.cause}) of rows without a key: name one by primary_key(...) of the target "
        f"schema, or use ChangelogMode.all()"
    )


def configured(environment: TableEnvironment) -> StreamExecutionEnvironment:
    """The environment that runs the program, with what the table environment sets: parallelism.default and others."""
    streams = environment._stream_environment
    streams.configure(environment.get_config().get_configuration())
    return streams


def _row_type(plan: Rel) -> TypeInformation:
    return info_of_data_type(RowType([RowField(column.name, column.type) for column in plan.schema]))


def options_of(environment: TableEnvironment) -> Options:
    """The settings of the session that operators know."""
    settings = environment.get_config().to_map()
    around = Environment(environment.get_config().get_local_timezone(), environment.get_current_database(), settings)
    return Options(
        environment=around,
        state_ttl=_millis(settings, STATE_TTL),
        two_phase=settings.get(PHASES, "AUTO").upper() != "ONE_PHASE",
        idle_timeout=_millis(settings, IDLE_TIMEOUT),
        split_distinct=settings.get(SPLIT_DISTINCT, "false").lower() == "true",
    )


def surroundings_of(environment: TableEnvironment) -> Surroundings:
    """What expressions without columns may know while a plan is made."""
    config = environment.get_config()
    return Surroundings(0, config.get_local_timezone(), 0, environment.get_current_database(), None, config.to_map())


def _millis(settings: dict[str, str], key: str) -> int:
    return to_duration(settings[key]).to_millis() if key in settings else 0
