"""Turns the description of a pipeline into a stream program, or into the text of ``--dry-run``, which contains no
secrets."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from millrace.cdc import pipeline_file
from millrace.cdc.database_sink import DatabasePipelineSink
from millrace.cdc.database_sources import MySqlPipelineSource, PostgresPipelineSource
from millrace.cdc.elements import PipelineSink, PipelineSource
from millrace.cdc.file_sinks import FilesPipelineSink, PrintingSink
from millrace.cdc.pipeline_file import End, Pipeline
from millrace.cdc.pipeline_operators import SchemaOperator, Transforming
from millrace.cdc.schema_evolution import Policy
from millrace.cdc.table_selection import Router, router
from millrace.cdc.transforms import PipelineSurroundings, Rule, rules_of
from millrace.cdc.user_functions import find_functions
from millrace.cdc.values_source import ValuesSource
from millrace.common.configuration import Configuration
from millrace.common.typeinfo import Types
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.table.sessions.table_settings import TableConfig
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask_options

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
