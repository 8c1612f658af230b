"""The streaming engine: runs plans as jobs, and explains them: the optimised plan with its changes, the operators,
where on Spark they run, and PLAN_ADVICE (problems that a streaming plan will run into, and what to do about them).

Also converts between the modes: rows of DataStreams for batch queries, and rows of a batch query as the source of a
DataStream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.common.configuration import is_on, to_duration
from millrace.common.source import SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation, Types
from millrace.configuration.own_options import EVERY_CHANGE, NEW_CALLS_BEGIN_EMPTY
from millrace.connectors.generated_sources import CollectionSource, CollectionSplit
from millrace.connectors.source_base import QueueEnumerator
from millrace.graph.lowering import lower, run_passes
from millrace.graph.program import Edge, Graph, Node, Program, plan_json
from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import ROWTIME, Rel, Sink, StreamScan
from millrace.relational.nodes.rel import expressions_of, transform
from millrace.relational.rex import Rex, rex_text
from millrace.relational.rows import Rows, record_batch
from millrace.relational.rules.filters_and_projections import is_deterministic
from millrace.relational.rules.optimizer import optimise_streaming, share_as_set
from millrace.relational.rules.plan_text import node_text
from millrace.relational.sources import TableSource
from millrace.relational.type_table import schema_of
from millrace.relational.types import RowField, RowType
from millrace.runtime.operators import specs
from millrace.runtime.tables.base import Environment
from millrace.runtime.tables.stream_rows import ToElements
from millrace.runtime.tables.windows.count_windows import ROWS
from millrace.table.planner.plan import ChangelogError, Changes, Key, Options, Plan, changes_of
from millrace.table.planner.upserts import compares_changes, upserts
from millrace.table.sessions.session import STATE_TTL, ChangelogMode, ExplainDetail
from millrace.table.sessions.table_info import forget_written
from millrace.table.sessions.table_result import TableResult, name_of_job, query_result, sink_result
from millrace.table.values.data_types import info_of_data_type
from millrace.table.values.program_errors import problem
from millrace.util.identity import IdentityDict

if TYPE_CHECKING:
    from millrace.datastream import DataStream
    from millrace.spark.jobs.submit import SparkJobClient
    from millrace.table.catalogs.objects import Schema
    from millrace.table.sessions.session import Session


# PLAN_ADVICE

NONE = "No available advice..."
"""The line that EXPLAIN prints if there is no advice, in Flink's words."""

Settings = Mapping[str, str]


def optimised_section(plan: str, advice: str | None) -> dict[str, str]:
    """The part of EXPLAIN with the optimised plan: title -> text; advice follows below if it was asked for."""
    if advice is None:
        return {"Optimized Physical Plan": plan}
    return {"Optimized Physical Plan With Advice": f"{plan}\n\n{advice}"}


def advice_on(plans: Sequence[n.Rel], settings: Settings) -> list[str]:
    """Return one line for each piece of advice, or the line ``NONE``.

    :param plans: optimised.
    """
    found: dict[str, None] = {}
    for plan in plans:
        for node in n.walk(plan):
            for rule in _RULES:
                found.update((f"{text}\n  at {node_text(node)}", None) for text in rule(node, settings))
    return [f"advice[{number}]: {text}" for number, text in enumerate(found, 1)] or [NONE]


def _two_phases(node: n.Rel, settings: Settings) -> Iterator[str]:
    key = "table.optimizer.agg-phase-strategy"
    if isinstance(node, n.Aggregate) and settings.get(key, "AUTO").upper() == "ONE_PHASE":
        yield f"[ADVICE] All rows are exchanged: with '{key}' = 'AUTO' each task aggregates its rows before."


def _distinct(node: n.Rel, settings: Settings) -> Iterator[str]:
    key = "table.optimizer.distinct-agg.split.enabled"
    split = is_on(settings, key)
    if isinstance(node, n.Aggregate) and not split and any(call.distinct for call in node.aggregates):
        yield (
            "[ADVICE] One task keeps all distinct values of a group. If some groups have very many, "
            f"'{key}' = 'true' spreads them."
        )


def _unbounded_state(node: n.Rel, settings: Settings) -> Iterator[str]:
    what = None if getattr(node, "window", None) is not None else _KEEPS.get(type(node))
    if what is None or STATE_TTL in settings or not _endless(node):
        return
    yield (
        f"[WARNING] State grows without end: {what}. Use a window or an interval of time, or say how long rows count "
        f"with '{STATE_TTL}' or the hint STATE_TTL."
    )


_KEEPS: dict[type[n.Rel], str] = {
    n.Join: "a regular join keeps all rows of both sides",
    n.Aggregate: "an aggregate keeps all groups",
    n.TableAggregate: "an aggregate keeps all groups",
    n.Rank: "a Top-N keeps the first rows of all partitions",
    n.Deduplicate: "a deduplication keeps all keys",
}


def _match_without_end(node: n.Rel, settings: Settings) -> Iterator[str]:
    if isinstance(node, n.Match) and node.within is None and _endless(node):
        yield (
            "[WARNING] State may grow without end: a match that has begun keeps its rows until it is decided. Say how "
            "long it may take: PATTERN (..) WITHIN INTERVAL '1' HOUR."
        )


def _endless(node: n.Rel) -> bool:
    """Whether some table below has no end."""
    leaves = [each for each in n.walk(node) if not each.inputs]
    return any(bounded(leaf) is False for leaf in leaves)


def bounded(leaf: Any) -> bool | None:
    """Whether a node that reads no other one has an end; None: it does not say."""
    if isinstance(leaf, n.Values):
        return True
    return getattr(getattr(leaf, "source", None), "bounded", None)


def _indeterminate(node: n.Rel, settings: Settings) -> Iterator[str]:
    """A row that is taken back must look as when it was given."""
    if not any(not changes_of(each).append_only for each in node.inputs) or len(node.inputs) != 1:
        return
    for expression in expressions_of(node):
        if not is_deterministic(expression):
            text = rex_text(expression, node.inputs[0].schema)
            yield (
                f"[WARNING] {text} may differ when a row is taken back that it was computed for; then the row is not "
                "found. Compute it before rows change, or in the query that reads the result."
            )


_RULES: Sequence[Callable[[n.Rel, Settings], Iterator[str]]] = (
    _two_phases,
    _distinct,
    _unbounded_state,
    _match_without_end,
    _indeterminate,
)


# The engine

# table.exec.emit.*: windows that give rows before their end

EARLY, EARLY_DELAY = "table.exec.emit.early-fire.enabled", "table.exec.emit.early-fire.delay"
LATE, LATE_DELAY = "table.exec.emit.late-fire.enabled", "table.exec.emit.late-fire.delay"
LATENESS = "table.exec.emit.allow-lateness"


def with_emission(plan: n.Rel, settings: Mapping[str, str]) -> n.Rel:
    """A plan whose group windows know when they give rows. To be called before the rules, which make windows of
    windowing table functions look the same.

    :raises TableException: settings contradict each other, or a window can't do what they say.
    """
    if not any(is_on(settings, key) for key in (EARLY, LATE)):
        return plan
    return transform(plan, lambda node: _of_window(node, settings) if isinstance(node, n.WindowAggregate) else node)


def _of_window(node: n.WindowAggregate, settings: Mapping[str, str]) -> n.Rel:
    if node.attached is not None:
        raise problem(
            f"{EARLY} and {LATE} are for group windows, GROUP BY TUMBLE(..) and HOP(..): aggregates over windowing "
            "table functions have rows that never change; nearest: CUMULATE for results before the end of a window"
        )
    if node.window.kind not in ("TUMBLE", "HOP"):
        what = "a window of rows" if node.window.kind == ROWS else f"{node.window.kind} windows"
        raise problem(f"{EARLY} and {LATE} are for TUMBLE and HOP, not for {what}: leave the settings out")
    return replace(node, emission=_emission(settings, node.input.schema[node.time].time != n.PROCTIME))


def _emission(settings: Mapping[str, str], event_time: bool) -> n.Emission | None:
    """:param event_time: False: no row is late, whatever is said of late ones."""
    early = _delay(settings, EARLY, EARLY_DELAY)
    late = _delay(settings, LATE, LATE_DELAY)
    if late is None:
        return None if early is None else n.Emission(early)
    key = LATENESS if LATENESS in settings else STATE_TTL
    lateness = to_duration(settings[key]).to_millis() if key in settings else 0
    if event_time and lateness <= 0:
        raise problem(f"{LATE} needs {LATENESS} (or {STATE_TTL}) above 0: how late a row may be")
    if late > lateness:
        raise problem(f"{LATE_DELAY} is {late} ms, longer than rows may be late ({lateness} ms): set {LATENESS} higher")
    if event_time:
        return n.Emission(early, late, lateness)
    return None if early is None else n.Emission(early)


def _delay(settings: Mapping[str, str], enabled: str, delay: str) -> int | None:
    """A delay (ms), None where it is not enabled."""
    if not is_on(settings, enabled):
        return None
    found = to_duration(settings[delay]).to_millis() if delay in settings else -1
    if found < 0:
        raise problem(f"{enabled} needs {delay}: 0 ms for each change, or how long changes wait")
    return found


# Programs of plans


def add_to_program(plans: Sequence[n.Rel], program: Program, options: Options) -> None:
    """Add the operators of optimised plans. A plan that does not end in a sink is collected.

    :raises ChangelogError: a sink would get changes that it can't take.
    :raises NotImplementedError: a node has no streaming form.
    """
    plans = share_as_set(plans, options.environment.configuration)
    plan = Plan(program, options, plans)
    for each in plans:
        if isinstance(each, n.Sink) and compares_changes(plan, each):
            for below in n.walk(each):
                plan.in_step.add(below)
    for each in plans:
        planned = plan.add(each)
        if not isinstance(each, n.Sink):
            program.add("Collect", specs.Collect(), tuple(map(Edge, planned.ids)), **plan.width([(planned, None)]))


# Jobs

IDLE_TIMEOUT = "table.exec.source.idle-timeout"
MINI_BATCH, MINI_BATCH_LATENCY = "table.exec.mini-batch.enabled", "table.exec.mini-batch.allow-latency"
PHASES = "table.optimizer.agg-phase-strategy"
SPLIT_DISTINCT = "table.optimizer.distinct-agg.split.enabled"


def optimised(plans: Sequence[Rel], session: Session) -> list[Rel]:
    """The plans after the rules."""
    surroundings = surroundings_of(session)
    return [optimise_streaming(with_emission(plan, surroundings.configuration), surroundings) for plan in plans]


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
    from millrace.datastream.handles import Port

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
    """The columns that identify the rows of a stream of upserts, by the target schema; None: the key that the plan
    knows.

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
    every = EVERY_CHANGE.read(settings)
    return Options(
        environment=around,
        state_ttl=_millis(settings, STATE_TTL),
        two_phase=settings.get(PHASES, "AUTO").upper() != "ONE_PHASE" and not every,
        idle_timeout=_millis(settings, IDLE_TIMEOUT),
        least_slice=_millis(settings, MINI_BATCH_LATENCY) if gathers and not every else 0,
        split_distinct=is_on(settings, SPLIT_DISTINCT) and not every,
        every_change=every,
        new_calls_begin_empty=NEW_CALLS_BEGIN_EMPTY.read(settings),
    )


def surroundings_of(session: Session) -> Surroundings:
    """What expressions without columns may know while a plan is made."""
    config = session.config
    return Surroundings(0, config.get_local_timezone(), 0, session.catalogs.current_database, None, config.to_map())


def _millis(settings: dict[str, str], key: str) -> int:
    return to_duration(settings[key]).to_millis() if key in settings else 0


# EXPLAIN


class StreamingPlans:
    """Plans of a session as they would run."""

    def __init__(self, plans: Sequence[Rel], session: Session) -> None:
        self._session = session
        self._plans = optimised(plans, session)
        self._graph = self._graph_of(self._plans)
        self._numbers = {node.id: number for number, node in enumerate(self._graph.nodes, 1)}

    def _graph_of(self, plans: Sequence[Rel]) -> Graph:
        streams = self._session.configured_streams()
        program = streams._program.branch()
        add_to_program(plans, program, options_of(self._session))
        return run_passes(program.graph(streams._settings("")))

    def optimised(self, with_changes: bool) -> str:
        """The plans after the rules as indented trees; with the kinds of change that each node gives, if asked for."""
        return "\n\n".join("\n".join(_lines(plan, with_changes, 0)) for plan in self._plans)

    def operators(self) -> str:
        """The operators in their order, each with what it reads and how rows travel there."""
        return "\n".join(f"{self._label(node)}{self._inputs(node)}" for node in self._graph.nodes)

    def stages(self) -> str:
        """The stages of the Spark job: which operators run together in a task, and what is exchanged between."""
        widths = lower(self._graph, "").partitions
        lines = []
        for stage, width in enumerate(widths):
            inside = [node for node in self._graph.nodes if self._graph.stages[node.id] == stage]
            tasks = "1 task" if width == 1 else f"{width} tasks"
            lines.append(f"stage {stage}, {tasks}")
            lines += [f"  reads {text}" for node in inside for text in self._exchanges(node, stage)]
            lines += [f"  {self._label(node)}" for node in inside]
        return "\n".join(lines)

    def json(self) -> str:
        """The plan that Flink's visualiser reads."""
        return plan_json(self._graph)

    def advice(self) -> str:
        return "\n".join(advice_on(self._plans, self._session.config.to_map()))

    def _label(self, node: Node) -> str:
        return f"{self._numbers[node.id]}: {node.kind}{node.name}"

    def _inputs(self, node: Node) -> str:
        return " <- " + ", ".join(map(self._input, node.edges)) if node.edges else ""

    def _input(self, edge: Edge) -> str:
        return f"{self._numbers[edge.source]} [{_way(edge)}]"

    def _exchanges(self, node: Node, stage: int) -> list[str]:
        """What comes to a node from other stages."""
        return [
            f"{self._input(edge)} -> {self._numbers[node.id]}"
            for edge in node.edges
            if self._graph.stages[edge.source] != stage
        ]


def _lines(plan: Rel, with_changes: bool, indent: int) -> list[str]:
    changes = f" changelogMode={changes_of(plan).text}" if with_changes else ""
    lines = [f"{'  ' * indent}{node_text(plan)}{changes}"]
    for each in plan.inputs:
        lines += _lines(each, with_changes, indent + 1)
    return lines


def _way(edge: Edge) -> str:
    return "FORWARD" if edge.partitioner is None else edge.partitioner.ship_strategy


# The engine

_BATCH = "needs batch mode, EnvironmentSettings.in_batch_mode()"
_NO_COST = "not known in streaming mode: there are no statistics of streams, and no rule needs a cost"


class StreamingEngine:
    """``Engine`` of streaming mode."""

    def execute(self, plans: Sequence[Rel], session: Session, job_name: str | None = None) -> TableResult:
        return submit(optimised(plans, session), session, job_name)

    def explain(self, plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> dict[str, str]:
        made = StreamingPlans(plans, session)
        advice = made.advice() if ExplainDetail.PLAN_ADVICE in details else None
        sections = {
            **optimised_section(made.optimised(ExplainDetail.CHANGELOG_MODE in details), advice),
            "Optimized Execution Plan": made.operators(),
            "Stages on Spark": made.stages(),
        }
        if ExplainDetail.ESTIMATED_COST in details:
            sections["Estimated Cost"] = _NO_COST
        if ExplainDetail.JSON_EXECUTION_PLAN in details:
            sections["Physical Execution Plan"] = made.json()
        return sections

    def to_data_stream(self, plan: Rel, session: Session, **how: Any) -> DataStream | None:
        return to_data_stream(plan, session, **how)

    def from_spark(self, frame: Any) -> Rel:
        raise problem(
            f"from_spark() {_BATCH}: in streaming mode read the data source itself, with connector 'spark' or "
            "'filesystem'"
        )

    def to_spark(self, plan: Rel, session: Session) -> Any:
        raise problem(
            f"to_spark() {_BATCH}: in streaming mode write into a table of connector 'filesystem', which Spark can read"
        )


# DataStreams in batch queries


class GatheredStreams:
    """Runs the program of a DataStream as a bounded job of its own, and keeps what it gave: a query that reads a stream
    twice runs it once. To be made for each query.

    :param environment: whose program the streams belong to.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._gathered: IdentityDict[DataStream, pa.Table] = IdentityDict()

    def __call__(self, scan: StreamScan) -> pa.Table:
        """The columns of a scan, c0, c1, ...

        :raises NotImplementedError: the stream has changes.
        :raises GraphError: the stream never ends.
        """
        if scan.changelog is not None:
            raise NotImplementedError(
                "a table of from_changelog_stream() is read in streaming mode only, since batch mode has no changes: "
                "give the rows that are left at the end to from_data_stream()"
            )
        stream: Any = scan.stream
        if stream not in self._gathered:
            client = start([scan], self._session, "DataStream as a table")
            batches = [rows.batch for rows in client.collected()]
            types = [column.type for column in scan.columns]
            self._gathered[stream] = pa.Table.from_batches(batches, schema=schema_of(types))
        return self._gathered[stream]


# Batch queries in DataStreams

Compute = Callable[[], Sequence[Rows]]

_ROW_BY_ROW = (n.Scan, n.StreamScan, n.Values, n.Project, n.Filter, n.Watermark, n.Correlate, n.Hinted)


class ComputedSource(CollectionSource[Rows]):
    """Runs the query when the job begins."""

    def __init__(self, compute: Compute) -> None:
        super().__init__(())
        self._compute = compute

    def create_enumerator(
        self, context: SplitEnumeratorContext[CollectionSplit], checkpoint: Sequence[CollectionSplit] | None = None
    ) -> QueueEnumerator[CollectionSplit]:
        if checkpoint is None:
            self._values = list(self._compute())
        return super().create_enumerator(context, checkpoint)


class ComputedTable(TableSource):
    """A table that a batch query gives."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        def picked() -> list[Rows]:
            found = self._compute()
            return [Rows(record_batch([rows.columns[at] for at in columns], len(rows))) for rows in found]

        return ComputedSource(picked)


def computed(plan: n.Rel, compute: Compute) -> n.Scan:
    """A plan that reads what another one gives when it is computed."""
    return n.Scan(("default_catalog", "default_database", "*computed*"), plan.schema, ComputedTable(compute))


def row_by_row(plan: n.Rel) -> bool:
    """Whether each row of a plan comes of one row of what it reads: then it means the same in a stream."""
    return isinstance(plan, _ROW_BY_ROW) and all(map(row_by_row, plan.inputs))
