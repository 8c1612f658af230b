"""Turns the description of a pipeline into a stream program, or into the text of ``--dry-run``, which contains no
secrets. With the operators of a pipeline: routing and transforms of batches, then the schemas of the sink's tables.

``Transforming`` sends each element of a source table to every sink table that it is routed to. ``SchemaOperator`` holds
the schemas of the sink's tables in state, emits schema changes, and maps rows to the sink's columns by name.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from millrace.cdc import pipeline_file
from millrace.cdc.database_sink import DatabasePipelineSink
from millrace.cdc.elements import Batch, Element, PipelineSink, PipelineSource, Routed, SinkChange, SinkElement
from millrace.cdc.file_sinks import FilesPipelineSink, PrintingSink
from millrace.cdc.pipeline_file import End, Pipeline
from millrace.cdc.pipeline_sources import MySqlPipelineSource, PostgresPipelineSource, ValuesSource
from millrace.cdc.schema_evolution import Following, Policy
from millrace.cdc.table_selection import Router, router
from millrace.cdc.transforms import (
    Applied,
    Bound,
    Layout,
    PipelineSurroundings,
    Rule,
    applied,
    find_functions,
    rules_of,
)
from millrace.common.configuration import Configuration
from millrace.common.functions import FlatMapFunction, KeyedProcessFunction, RuntimeContext
from millrace.common.state import ValueStateDescriptor
from millrace.common.typeinfo import Types
from millrace.common.types import RowKind
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.relational.functions.cast_values import explicit_cast
from millrace.relational.functions.evaluate import Evaluator, repeat
from millrace.relational.functions.registry import SignatureError, Surroundings, cast_to
from millrace.relational.rex import Literal, Ref, Rex
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, concat, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.bases.operator import OperatorContext
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.runner import FunctionRunner
from millrace.table.sessions.session import TableConfig
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask_options

# Operators

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Coercion:
    """Converts rows of one schema to another schema; missing columns become NULL."""

    schema: TableSchema
    columns: tuple[Rex, ...]

    def of(self, batch: Batch, around: Surroundings) -> Batch:
        evaluator = Evaluator(batch.rows.columns, around)
        made = [evaluator.column(each) for each in self.columns]
        exact = [
            column if column.type == arrow_type(kind) else column.cast(arrow_type(kind))
            for column, kind in zip(made, self.schema.types)
        ]
        return batch.with_rows(Rows(record_batch(exact, len(batch.rows)), batch.rows.kinds), self.schema)


def coercion(table: object, found: TableSchema, wanted: TableSchema, tolerant: bool) -> Coercion | None:
    """The conversion from one schema to another; None: none is needed.

    :param tolerant: whether values that do not fit become NULL; otherwise they fail the job.
    :raises ValueError: a column cannot be cast to its type in the sink.
    """
    if found.names == wanted.names and all(a.is_same(b) for a, b in zip(found.types, wanted.types)):
        return None
    places = {name: place for place, name in enumerate(found.names)}
    columns: list[Rex] = []
    for name, kind in zip(wanted.names, wanted.types):
        place = places.get(name)
        if place is None:
            columns.append(Literal(kind.nullable(), None))
        else:
            columns.append(_cast(table, name, Ref(found.types[place], place), kind, tolerant))
    return Coercion(wanted, tuple(columns))


def _cast(table: object, name: str, column: Ref, wanted: DataType, tolerant: bool) -> Rex:
    if column.type.is_same(wanted):
        return column
    try:
        return explicit_cast(column, wanted, attempt=tolerant)
    except SignatureError as error:
        if not tolerant:
            raise ValueError(f"table {table}, column {name}: {error}") from None
        logger.warning("table %s, column %s is NULL from now on: %s", table, name, error)
        return Literal(wanted.nullable(), None)


_EVENT_TYPES = pa.array([str(kind) for kind in RowKind])


def transformed(batch: Batch, applied: Applied, around: Surroundings, functions: FunctionRunner | None) -> Batch | None:
    """A batch after the transform rules; None if no row is left. The first rule whose filter accepts a row applies to
    it.

    An update from an accepted to a rejected row becomes a deletion, the reverse an insertion.
    """
    if not applied.rules:
        return batch
    evaluator = _evaluator(batch, around, functions)
    rest = np.ones(len(batch.rows), bool)
    parts: list[Rows] = []
    places: list[Any] = []
    for rule in applied.rules:
        mine = rest & _passing(batch, rule, evaluator)
        rest &= ~mine
        where = np.flatnonzero(mine)
        if len(where):
            parts.append(_projected(batch, rule, applied.layout, where, evaluator))
            places.append(where)
    if not parts:
        return None
    order = np.concatenate(places)
    rows = concat(parts)
    if len(parts) > 1:
        sorting = np.argsort(order, kind="stable")
        rows, order = rows.take(sorting), order[sorting]
    paired = _paired(rows, order, batch.rows.kind_values())
    soft = any(rule.soft_delete for rule in applied.rules)
    return batch.with_rows(_soft(batch, paired) if soft else paired, applied.layout.schema)


def _evaluator(batch: Batch, around: Surroundings, functions: FunctionRunner | None) -> Evaluator:
    count, table = len(batch.rows), batch.table
    texts = [repeat(pa.scalar(text), count) for text in (table.namespace, table.schema, table.table)]
    times = repeat(pa.scalar(0, pa.int64()), count) if batch.times is None else pa.array(batch.times)
    columns = [*batch.rows.columns, *texts, _EVENT_TYPES.take(pa.array(batch.rows.kind_values())), times]
    return Evaluator(columns, around) if functions is None else FunctionEvaluator(columns, around, functions)


def _passing(batch: Batch, rule: Bound, evaluator: Evaluator) -> Any:
    if rule.condition is None:
        return np.ones(len(batch.rows), bool)
    passing = evaluator.mask(rule.condition)
    if batch.keys_only:
        # What an old row had is not known: if it was never there, its deletion does no harm.
        passing = passing | ~batch.rows.adds()
    return passing


def _projected(batch: Batch, rule: Bound, layout: Layout, where: Any, evaluator: Evaluator) -> Rows:
    outputs = [cast_to(each, kind) for each, kind in zip(rule.outputs, layout.schema.types)]
    if len(where) == len(batch.rows):
        columns = [evaluator.column(each) for each in outputs]
    else:
        columns = [
            evaluator.column(each).take(pa.array(where)) if isinstance(each, Ref) else evaluator.some_rows(where, each)
            for each in outputs
        ]
    return Rows(record_batch(columns, len(where)), batch.rows.kind_values()[where])


def _paired(rows: Rows, order: Any, before: Any) -> Rows:
    """Turn updates that have lost their old or new row into insertions or deletions."""
    kinds = rows.kind_values().copy()
    if not len(kinds):
        return rows
    old = kinds == UPDATE_BEFORE
    follows = np.zeros(len(kinds), bool)
    follows[:-1] = (order[1:] == order[:-1] + 1) & (kinds[1:] == UPDATE_AFTER)
    kinds[old & ~follows] = DELETE
    # A new side that had an old one in the source, and has none any more.
    had = np.zeros(len(kinds), bool)
    inside = order > 0
    had[inside] = before[order[inside] - 1] == UPDATE_BEFORE
    has = np.zeros(len(kinds), bool)
    has[1:] = follows[:-1] & old[:-1]
    kinds[(kinds == UPDATE_AFTER) & had & ~has] = INSERT
    return Rows(rows.batch, kinds)


def _soft(batch: Batch, rows: Rows) -> Rows:
    """Soft deletes: turn deletions into insertions of the deleted row.

    :raises ValueError: the deleted row is unknown, since the batch contains keys only.
    """
    kinds = rows.kind_values().copy()
    gone = kinds == DELETE
    if batch.keys_only and gone.any():
        raise ValueError(
            f"table {batch.table}: SOFT_DELETE needs the old rows as a whole, and the log has their keys only: set "
            f"REPLICA IDENTITY FULL (PostgreSQL) or binlog_row_image=FULL (MySQL)"
        )
    kinds[gone] = INSERT
    return Rows(rows.batch, kinds)


class Layouts:
    """The result of the rules for each table and schema, cached."""

    def __init__(self, rules: tuple[Rule, ...], around: PipelineSurroundings) -> None:
        self._rules, self._around = rules, around
        self._known: dict[TableId, tuple[TableSchema, Applied]] = {}

    def of(self, table: TableId, schema: TableSchema) -> Applied:
        known = self._known.get(table)
        if known is not None and (known[0] is schema or known[0] == schema):
            return known[1]
        found = applied(self._rules, table, schema, self._around)
        self._known[table] = schema, found
        return found


class Transforming(FlatMapFunction):
    """Applies transforms to batches, and passes schema changes on unchanged: the next operator interprets them."""

    def __init__(self, rules: tuple[Rule, ...], router: Router, around: PipelineSurroundings) -> None:
        self._rules, self._router, self._around = rules, router, around
        self._runner: FunctionRunner | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._layouts = Layouts(self._rules, self._around)
        self._targets: dict[TableId, tuple[TableId, ...]] = {}
        functions: Mapping[str, Any] = self._around.functions
        if functions:
            self._runner = _runner(runtime_context, [each.wrapper for each in functions.values()])
            self._runner.open()

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def flat_map(self, value: Element) -> Iterator[Routed]:
        if not isinstance(value, Batch):
            for sink in self._to(value.table):
                yield Routed(sink, value.table, value)
            return
        around = Surroundings(len(value.rows), self._around.zone, time.time_ns() // 1000)
        batch = transformed(value, self._layouts.of(value.table, value.schema), around, self._runner)
        if batch is not None:
            for sink in self._to(value.table):
                yield Routed(sink, value.table, batch, value.schema)

    def _to(self, table: TableId) -> tuple[TableId, ...]:
        found = self._targets.get(table)
        if found is None:
            found = self._targets[table] = self._router.targets(table)
        return found


def _runner(runtime: Any, wrappers: list[Any]) -> FunctionRunner:
    context = OperatorContext(runtime, "Transform", "the pipeline", None, {}, lambda: time.time_ns() // 1_000_000)
    return FunctionRunner(context, {}, wrappers)


class SchemaOperator(KeyedProcessFunction):
    """Maps batches to the sink's schemas. Keyed by sink table: all elements of a table pass here in their order."""

    def __init__(self, rules: tuple[Rule, ...], around: PipelineSurroundings, policy: Policy, lineage: str) -> None:
        self._rules, self._around, self._policy, self._lineage = rules, around, policy, lineage

    def open(self, runtime_context: RuntimeContext) -> None:
        self._layouts = Layouts(self._rules, self._around)
        self._state = runtime_context.get_state(ValueStateDescriptor("following", Types.PICKLED_BYTE_ARRAY()))
        self._coercions: dict[tuple[TableId, TableId], tuple[TableSchema, TableSchema, Coercion | None]] = {}

    def process_element(self, value: Routed, ctx: Any) -> Iterator[SinkElement]:
        known: Following = self._state.value() or Following(value.sink, lineage=self._lineage)
        element = value.element
        if isinstance(element, Batch):
            assert value.origin is not None
            after, told = known.before_rows(value.source, value.origin, self._layout_of, self._policy)
        else:
            after, told = known.after(value.source, element, self._layout_of, self._policy)
        after = replace(after, version=known.version + len(told)) if told else after
        if after is not known:
            self._state.update(after)
        for number, event in enumerate(told, known.version + 1):
            yield SinkChange(event, number, after.lineage)
        if isinstance(element, Batch):
            assert after.layout is not None
            batch = self._in_form(value, element, after.layout.schema)
            yield replace(batch, version=after.version, lineage=after.lineage)

    def _layout_of(self, table: TableId, schema: TableSchema) -> Layout:
        return self._layouts.of(table, schema).layout

    def _in_form(self, routed: Routed, batch: Batch, wanted: TableSchema) -> Batch:
        place = routed.source, routed.sink
        known = self._coercions.get(place)
        if known is None or known[0] != batch.schema or known[1] != wanted:
            found = coercion(routed.sink, batch.schema, wanted, self._policy.tolerant)
            known = self._coercions[place] = batch.schema, wanted, found
        how = known[2]
        if how is None:
            return replace(batch, table=routed.sink, schema=wanted)
        around = Surroundings(len(batch.rows), self._around.zone, time.time_ns() // 1000)
        return replace(how.of(batch, around), table=routed.sink)


# From the description to the program

_SOURCES: Mapping[str, Callable[[End], PipelineSource]] = {
    "postgres": PostgresPipelineSource,
    "mysql": MySqlPipelineSource,
    "values": ValuesSource,
}
_NEAR_SOURCES = {"postgresql": "postgres", "mariadb": "mysql", "postgres-cdc": "postgres", "mysql-cdc": "mysql"}
_REFUSED_SOURCES = ("oracle", "sqlserver", "mongodb", "db2", "oceanbase", "tidb", "vitess", "fluss")


def source_of(pipeline: Pipeline) -> PipelineSource:
    """:raises PipelineError: there is no such source, or its options are wrong."""
    make = _SOURCES.get(pipeline.source.type)
    if make is None:
        _unknown_source(pipeline.source)
    return make(pipeline.source)


def _unknown_source(end: End) -> NoReturn:
    kind = end.type
    if kind in _REFUSED_SOURCES:
        end.block.fail(
            f"Millrace captures no {kind}; nearest: Debezium's connector for it writes to Kafka, and a job in SQL "
            "reads that by 'connector' = 'kafka' with 'format' = 'debezium-json'",
            "type",
        )
    near = f", did you mean '{_NEAR_SOURCES[kind]}'?" if kind in _NEAR_SOURCES else did_you_mean(kind, _SOURCES)
    end.block.fail(f"there is no source of type {kind}{near}; there are {', '.join(_SOURCES)}", "type")


def _kafka_sink(pipeline: Pipeline) -> PipelineSink:
    # Only pipelines that write to Kafka need its connector.
    from millrace.cdc.kafka_sink import KafkaPipelineSink

    return KafkaPipelineSink(pipeline)


_SINKS: Mapping[str, Callable[[Pipeline], PipelineSink]] = {
    "kafka": _kafka_sink,
    "postgres": DatabasePipelineSink,
    "mysql": DatabasePipelineSink,
    "jdbc": DatabasePipelineSink,
    "filesystem": FilesPipelineSink,
    "values": lambda pipeline: PrintingSink(pipeline.sink),
    "print": lambda pipeline: PrintingSink(pipeline.sink),
}
_NEAR_SINKS = {"postgresql": "postgres", "mariadb": "mysql", "files": "filesystem", "file": "filesystem"}
_LAKES = "nearest: 'filesystem' with 'format: parquet', or 'kafka' and the connector of the lake behind it"
_STORES = "nearest: 'kafka' with 'debezium-json', which the store loads by itself"
_REFUSED_SINKS: Mapping[str, str] = {
    **dict.fromkeys(("paimon", "iceberg", "hudi", "fluss"), _LAKES),
    **dict.fromkeys(("doris", "starrocks", "maxcompute", "oceanbase", "dws"), _STORES),
    "elasticsearch": "nearest: 'kafka', and a job in SQL from there to 'opensearch' or 'elasticsearch-7'",
}


def sink_of(pipeline: Pipeline) -> PipelineSink:
    """:raises PipelineError: there is no such sink, or its options are wrong."""
    make = _SINKS.get(pipeline.sink.type)
    if make is None:
        _unknown_sink(pipeline)
    return make(pipeline)


def _unknown_sink(pipeline: Pipeline) -> NoReturn:
    kind, block = pipeline.sink.type, pipeline.sink.block
    if kind in _REFUSED_SINKS:
        block.fail(f"Millrace writes no sink of type {kind}; {_REFUSED_SINKS[kind]}", "type")
    near = f", did you mean '{_NEAR_SINKS[kind]}'?" if kind in _NEAR_SINKS else did_you_mean(kind, _SINKS)
    block.fail(f"there is no sink of type {kind}{near}; there are {', '.join(_SINKS)}", "type")


INTERVAL = "execution.checkpointing.interval"
DEFAULT_INTERVAL = "3s"
"""Checkpoint interval of an unbounded pipeline whose configuration sets none."""


@dataclass(frozen=True)
class Composed:
    """A pipeline with all names resolved: source, sink, routes, transforms, functions."""

    pipeline: Pipeline
    source: PipelineSource
    sink: PipelineSink
    rules: tuple[Rule, ...]
    router: Router
    surroundings: PipelineSurroundings


def compose(pipeline: Pipeline) -> Composed:
    """:raises PipelineError: a rule, an option or a function is wrong."""
    surroundings = PipelineSurroundings(find_functions(pipeline.functions), pipeline.zone or _system_zone())
    rules, routes = rules_of(pipeline), router(pipeline)
    if pipeline.by_table is False:
        pipeline.sink.block.fail(
            "'sink.partitioning.strategy' PRIMARY_KEY: in Millrace all of a table goes to one subtask of the sink, so "
            "that a change of its columns is in order with its rows; leave it out, or say TABLE_ID"
        )
    return Composed(pipeline, source_of(pipeline), sink_of(pipeline), rules, routes, surroundings)


def build(composed: Composed, environment: StreamExecutionEnvironment | None = None) -> StreamExecutionEnvironment:
    """Add the pipeline to a program; to a new one if none is given."""
    pipeline = composed.pipeline
    found = environment or StreamExecutionEnvironment.get_execution_environment()
    found.configure(Configuration.from_dict(dict(pipeline.settings)))
    if pipeline.batch:
        found.set_runtime_mode(RuntimeExecutionMode.BATCH)
    found.set_parallelism(pipeline.parallelism)
    _checkpoints(composed, found)
    named = _Names(pipeline.uid_prefix)
    title = pipeline.source.name or f"Source {pipeline.source.type}"
    source = named.give(composed.source.attach(found, composed.sink.keeps_rows_by_keys), "source", title)
    # As many subtasks as the source has: what one of its readers gives stays in order.
    transforming = Transforming(composed.rules, composed.router, composed.surroundings)
    routed = source.flat_map(transforming, Types.PICKLED_BYTE_ARRAY())
    routed.set_parallelism(composed.source.parallelism or pipeline.parallelism)
    policy = Policy(pipeline.behavior, pipeline.accepted)
    operator = SchemaOperator(composed.rules, composed.surroundings, policy, uuid.uuid4().hex)
    followed = (
        named.give(routed, "transform", "Transform")
        .key_by(lambda each: each.key, Types.STRING())
        .process(operator, Types.PICKLED_BYTE_ARRAY())
    )
    sink = composed.sink.attach(named.give(followed, "schema-operator", "SchemaOperator"))
    named.give(sink, "sink", pipeline.sink.name or f"Sink {pipeline.sink.type}")
    return found


def _checkpoints(composed: Composed, environment: StreamExecutionEnvironment) -> None:
    """Enable checkpoints for an unbounded pipeline: a database retains its log until a checkpoint confirms its
    position."""
    if composed.source.is_unbounded and environment.get_checkpoint_interval() <= 0:
        environment.configure(Configuration.from_dict({INTERVAL: DEFAULT_INTERVAL}))


@dataclass(frozen=True)
class _Names:
    prefix: str | None

    def give(self, stream: Any, part: str, name: str) -> Any:
        named = stream.name(name)
        return named.uid(f"{self.prefix}-{part}") if self.prefix else named


def _system_zone() -> str:
    return TableConfig(Configuration(), Configuration()).get_local_timezone()


def plan_text(composed: Composed) -> str:
    """The pipeline's plan as lines for the user."""
    return "\n".join(_lines(composed))


def _lines(composed: Composed) -> Iterator[str]:
    pipeline = composed.pipeline
    yield f"pipeline: {pipeline.name}"
    yield f"  parallelism: {pipeline.parallelism}"
    yield f"  runtime mode: {'BATCH' if pipeline.batch else 'STREAMING'}"
    yield f"  time zone: {composed.surroundings.zone}"
    yield from _settings(pipeline)
    yield from _end("source", pipeline.source)
    for number, each in enumerate(pipeline.transforms, 1):
        yield f"transform {number}: {each.source_table}{_said(each.description)}"
        yield f"  projection: {each.projection or '*'}"
        if each.filter:
            yield f"  filter: {each.filter}"
        for title, names in (("primary keys", each.primary_keys), ("partition keys", each.partition_keys)):
            if names:
                yield f"  {title}: {', '.join(names)}"
        if each.table_options:
            yield f"  table options: {', '.join(f'{name}={text}' for name, text in each.table_options.items())}"
        if each.soft_delete:
            yield "  deletions: kept as rows (SOFT_DELETE)"
    for number, route in enumerate(pipeline.routes, 1):
        symbol = f" ({route.replace_symbol} is the table's name)" if route.replace_symbol else ""
        yield f"route {number}: {route.source_table} -> {route.sink_table}{symbol}{_said(route.description)}"
    for function in composed.surroundings.functions.values():
        yield f"function: {function.name} returns {function.result}"
    left_out = [kind for kind in pipeline_file.ALL if kind not in pipeline.accepted]
    yield f"schema changes: {pipeline.behavior.value}{', without ' + ', '.join(left_out) if left_out else ''}"
    yield from _end("sink", pipeline.sink)


def _settings(pipeline: Pipeline) -> Iterator[str]:
    for name, text in mask_options(pipeline.settings).items():
        yield f"  {name}: {text}"


def _end(title: str, end: End) -> Iterator[str]:
    yield f"{title}: {end.type}{_said(end.name)}"
    for name, text in mask_options(end.options).items():
        yield f"  {name}: {text}"


def _said(text: str | None) -> str:
    return f" ({text})" if text else ""
