"""Streaming plans run as jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.common.config_values import is_on, to_duration
from millrace.common.typeinfo import TypeInformation, Types
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import ROWTIME, Rel, Sink
from millrace.relational.rules.sharing import share_as_set
from millrace.relational.rules.streaming import optimise
from millrace.relational.types import RowField, RowType
from millrace.runtime.tables.base import Environment
from millrace.runtime.tables.stored_calls import BEGIN_EMPTY
from millrace.runtime.tables.stream_rows import ToElements
from millrace.table.planner.changes import ChangelogError, Changes, Key
from millrace.table.planner.emission import with_emission
from millrace.table.planner.plan import Options, Plan
from millrace.table.planner.streaming import add_to_program
from millrace.table.planner.upserts import upserts
from millrace.table.sessions.counted import forget_written
from millrace.table.sessions.results import name_of_job, query_result, sink_result
from millrace.table.sessions.table_result import TableResult
from millrace.table.settings.changelog_mode import ChangelogMode
from millrace.table.settings.table_config import STATE_TTL
from millrace.table.values.problems import problem
from millrace.table.values.stream_types import info_of_data_type

if TYPE_CHECKING:
    from millrace.datastream import DataStream
    from millrace.spark.jobs.submit import SparkJobClient
    from millrace.table.descriptions.schema import Schema
    from millrace.table.sessions.session import Session

IDLE_TIMEOUT = "table.exec.source.idle-timeout"
MINI_BATCH, MINI_BATCH_LATENCY = "table.exec.mini-batch.enabled", "table.exec.mini-batch.allow-latency"
PHASES = "table.optimizer.agg-phase-strategy"
EVERY_CHANGE = "millrace.table.aggregate.every-change"
SPLIT_DISTINCT = "table.optimizer.distinct-agg.split.enabled"


def optimised(plans: Sequence[Rel], session: Session) -> list[Rel]:
    """The plans after the rules."""
    surroundings = surroundings_of(session)
    return [optimise(with_emission(plan, surroundings.configuration), surroundings) for plan in plans]


def shared(plans: Sequence[Rel], session: Session) -> list[Rel]:
    """The plans after the rules; what several have in common is one node."""
    return list(share_as_set(optimised(plans, session), session.config.to_map()))


def submit(plans: Sequence[Rel], session: Session, job_name: str | None = None) -> TableResult:
    """A job of plans that have been through the rules.

    :raises ChangelogError: a sink would get changes that it can't take.
    :raises NotImplementedError: a plan has no streaming form.
    """
    client = start(plans, session, name_of_job(plans, session, job_name))
    forget_written(plans, session)
    if isinstance(plans[0], Sink):
        return sink_result(plans, client, lambda: [-1] * len(plans))
    return query_result(plans[0], client.collected(), session, job_client=client, close=client.discard)


def start(plans: Sequence[Rel], session: Session, job_name: str) -> SparkJobClient:
    """The client of a job of plans that have been through the rules."""
    streams = session.configured_streams()
    # What the user has added to the program runs with env.execute(), not with a table.
    with streams._apart() as program:
        add_to_program(plans, program, options_of(session))
        return streams._submit(job_name)


def to_data_stream(
    plan: Rel,
    session: Session,
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

    program, options = session.configured_streams()._program, options_of(session)
    if isinstance(plan, Sink):
        add_to_program(optimised([plan], session), program, options)
        return None
    (ready,) = shared([plan], session)
    made = Plan(program, options, [ready])
    mode, changes = mode or ChangelogMode.all(), made.changes(ready)
    if not changes.append_only and mode == ChangelogMode.insert_only():
        raise ChangelogError(f"the table has changes ({changes.cause}): use to_changelog_stream()")
    if mode == ChangelogMode.upsert():
        planned = upserts(made, ready, _upsert_key(ready, schema, changes), lambda rows: rows)
    else:
        planned = made.add(ready, True)
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
    return DataStream(session.streams, tuple(map(Port, ends.ids)), info)


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


def _row_type(plan: Rel) -> TypeInformation:
    return info_of_data_type(RowType([RowField(column.name, column.type) for column in plan.schema]))


def options_of(session: Session) -> Options:
    """The settings of the session that operators know."""
    settings = session.config.to_map()
    around = Environment(session.config.get_local_timezone(), session.catalogs.current_database, settings)
    gathers = is_on(settings, MINI_BATCH)
    every = is_on(settings, EVERY_CHANGE)
    return Options(
        environment=around,
        state_ttl=_millis(settings, STATE_TTL),
        two_phase=settings.get(PHASES, "AUTO").upper() != "ONE_PHASE" and not every,
        idle_timeout=_millis(settings, IDLE_TIMEOUT),
        least_slice=_millis(settings, MINI_BATCH_LATENCY) if gathers and not every else 0,
        split_distinct=is_on(settings, SPLIT_DISTINCT) and not every,
        every_change=every,
        new_calls_begin_empty=is_on(settings, BEGIN_EMPTY),
    )


def surroundings_of(session: Session) -> Surroundings:
    """What expressions without columns may know while a plan is made."""
    config = session.config
    return Surroundings(0, config.get_local_timezone(), 0, session.catalogs.current_database, None, config.to_map())


def _millis(settings: dict[str, str], key: str) -> int:
    return to_duration(settings[key]).to_millis() if key in settings else 0
