"""The batch engine: plans become queries of Spark; INSERTs can be packed with all that another process needs to run
them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from millrace.configuration.registry import tell_about
from millrace.datastream.job_settings import Dependencies
from millrace.datastream.settings import Submission, get_submitter
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel, Scan, Sink, StreamScan, find
from millrace.relational.nodes.rel import walk
from millrace.relational.rows import Rows
from millrace.relational.rules.optimizer import optimise_batch
from millrace.relational.rules.plan_text import plan_text
from millrace.spark.job_records import next_id
from millrace.spark.sessions.session import workplace
from millrace.spark.sessions.settings import SessionWishes
from millrace.spark.tables import execute
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.tables.execute import FrameSource, frame_of_table, scan_of_frame
from millrace.spark.tables.nodes.forms import unreadable
from millrace.spark.tables.steps.context import Context
from millrace.table.planner import engine
from millrace.table.planner.engine import NONE, GatheredStreams, computed, optimised_section, row_by_row
from millrace.table.sessions.session import ExplainDetail
from millrace.table.sessions.table_info import forget_written
from millrace.table.sessions.table_result import name_of_job, query_result, sink_result
from millrace.table.values.program_errors import problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from millrace.datastream import DataStream
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult


# INSERTs for another process


@dataclass(frozen=True)
class PortableInserts:
    """A ``Portable``: tables, views and functions of the session are part of the plans."""

    sinks: tuple[Sink, ...]
    job_id: str
    name: str
    zone: str
    database: str
    parallelism: int
    configuration: Mapping[str, str] = field(repr=False)
    dependencies: Dependencies
    jars: tuple[str, ...] = ()

    @staticmethod
    def of(sinks: Sequence[Sink], name: str, session: Session) -> PortableInserts:
        configuration = session.config.to_map()
        tell_about(configuration)
        streams = session.streams
        return PortableInserts(
            tuple(sinks),
            next_id(uuid.uuid4().hex),
            name,
            session.zone,
            session.catalogs.current_database,
            streams.get_parallelism(),
            {**streams._configuration.to_dict(), **configuration},
            streams._dependencies,
            tuple(streams._jars),
        )

    def start(self) -> BatchJobClient:
        wishes = SessionWishes(self.parallelism, self.configuration, self.jars, computes=True)
        context = execute.batch_context(
            workplace(None, wishes).session,
            self.zone,
            self.configuration,
            self.database,
            needs=self.dependencies,
            job_name=self.name,
        )
        return execute.start_inserts(self.sinks, replace(context, job_id=next_id(self.job_id)))


def is_portable(plans: Sequence[Rel]) -> bool:
    """Whether plans hold all that they read, or say where it is: DataStreams and frames are of this process."""
    nodes = [node for plan in plans for node in walk(plan)]
    return not any(
        isinstance(node, StreamScan) or (isinstance(node, Scan) and isinstance(node.source, FrameSource))
        for node in nodes
    )


# The engine

TARGET = "execution.target"
_NO_CHANGES = "in batch mode every operator gives insertions only"
_NO_JSON = "batch mode is no graph of operators: the plan that Spark runs is above"
_NO_ADVICE = f"{NONE} In batch mode there is no state that lasts."


class BatchEngine:
    """``Engine`` of batch mode."""

    def execute(self, plans: Sequence[Rel], session: Session, job_name: str | None = None) -> TableResult:
        _refuse_unreadable(plans, session)
        name = name_of_job(plans, session, job_name)
        sinks = [plan for plan in plans if isinstance(plan, Sink)]
        if sinks:
            client = _submit_inserts(sinks, name, session)
            forget_written(sinks, session)
            return sink_result(sinks, client, lambda: _counts(client, len(sinks)))
        start = partial(_start, partial(execute.start_query, plans[0]), name, session)
        query: Any = get_submitter()(_submission(start, True))
        return query_result(plans[0], _batches(query), session, job_client=query, close=query.discard)

    def explain(self, plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> dict[str, str]:
        """Asks Spark for its plan, and starts it for that."""
        around = _around(session)
        mode = "cost" if ExplainDetail.ESTIMATED_COST in details else "simple"
        optimised = "\n\n".join(plan_text(optimise_batch(plan, around)) for plan in plans)
        sections = {
            **optimised_section(optimised, _NO_ADVICE if ExplainDetail.PLAN_ADVICE in details else None),
            "Plan of Spark": "\n\n".join(_of_spark(plan, session, mode) for plan in plans),
        }
        if ExplainDetail.CHANGELOG_MODE in details:
            sections["Changelog Mode"] = _NO_CHANGES
        if ExplainDetail.JSON_EXECUTION_PLAN in details:
            sections["Physical Execution Plan"] = _NO_JSON
        return sections

    def to_data_stream(self, plan: Rel, session: Session, **how: Any) -> DataStream | None:
        """A plan whose rows do not depend on each other is part of the program; of any other the rows are computed
        first."""
        (shared,) = engine.shared([plan], session)
        if not isinstance(shared, Sink) and not row_by_row(shared):
            return engine.to_data_stream(computed(plan, lambda: _rows(plan, session)), session, **how)
        return engine.to_data_stream(plan, session, **how)

    def from_spark(self, frame: DataFrame) -> Rel:
        return scan_of_frame(frame)

    def to_spark(self, plan: Rel, session: Session) -> DataFrame:
        return frame_of_table(plan, _context(session))


def _around(session: Session) -> Surroundings:
    """What an optimiser may know before there is a Spark."""
    return Surroundings(0, session.zone, 0, session.catalogs.current_database, None, session.config.to_map())


def _refuse_unreadable(plans: Sequence[Rel], session: Session) -> None:
    """Say so before Spark starts, which takes seconds, if a table can't be read in batch mode.

    :raises NotImplementedError, ValueError: as the plan's translation.
    """
    for plan in plans:
        if any(map(unreadable, find(plan, Scan))):
            # The optimiser may have no need of the table.
            for scan in find(optimise_batch(plan.input if isinstance(plan, Sink) else plan, _around(session)), Scan):
                reason = unreadable(scan)
                if reason is not None:
                    raise reason


def _context(session: Session, job_name: str = "collect") -> Context:
    """What one run of a plan of the session needs.

    :raises ConfigurationError: a setting that is wrong.
    """
    tell_about(session.config.to_map())
    return execute.batch_context(
        _spark(session),
        session.zone,
        session.config.to_map(),
        session.catalogs.current_database,
        needs=session.streams._dependencies,
        job_name=job_name,
        streams=GatheredStreams(session),
    )


def _spark(session: Session) -> SparkSession:
    """Spark's session: the user's, the active one, or a new one."""
    streams = session.streams
    configuration = {**streams._configuration.to_dict(), **session.config.to_map()}
    wishes = SessionWishes(streams.get_parallelism(), configuration, tuple(streams._jars), computes=True)
    return workplace(streams._spark, wishes).session


def _of_spark(plan: Rel, session: Session, mode: str) -> str:
    text = execute.explain(plan, _context(session), mode)
    # Its headings are not ours.
    return re.sub(r"^== (.*) ==$", r"-- \1 --", text, flags=re.MULTILINE).strip()


def _rows(plan: Rel, session: Session) -> list[Rows]:
    return list(map(Rows, execute.collect(plan, _context(session)).to_batches()))


def _submit_inserts(sinks: Sequence[Sink], name: str, session: Session) -> Any:
    start = partial(_start, partial(execute.start_inserts, sinks), name, session)
    elsewhere = session.config.to_map().get(TARGET) == "remote"
    portable = partial(PortableInserts.of, sinks, name, session) if is_portable(sinks) else None
    return get_submitter()(_submission(start, False, portable=portable, elsewhere=elsewhere))


def _start(begin: Callable[[Context], BatchJobClient], name: str, session: Session) -> BatchJobClient:
    context = _context(session, name)
    return begin(replace(context, job_id=next_id(context.job_id)))


def _submission(start: Callable[[], BatchJobClient], collecting: bool, **more: Any) -> Submission:
    return Submission(_no_plan, start, collecting, **more)  # type: ignore[arg-type]


def _counts(client: Any, count: int) -> list[int]:
    """Rows written into each table; -1 where that is not known, as of jobs elsewhere."""
    if not isinstance(client, BatchJobClient):
        return [-1] * count
    return [-1 if written is None else written for written in client.outcome()]


def _no_plan() -> str:
    raise problem("a batch query has no plan of Flink's operators: EXPLAIN shows the plan of Spark")


def _batches(client: BatchJobClient) -> Iterator[Rows]:
    yield from map(Rows, client.outcome().to_batches())
