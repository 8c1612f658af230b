"""From a pipeline's description to a program of streams."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from millrace.cdc.definition.model import Pipeline
from millrace.cdc.operators.schema_operator import SchemaOperator
from millrace.cdc.operators.transforming import Transforming
from millrace.cdc.rules.functions import find_functions
from millrace.cdc.rules.names import Surroundings
from millrace.cdc.rules.routing import Router, router
from millrace.cdc.rules.transforms import Rule, rules_of
from millrace.cdc.schemas.behaving import Policy
from millrace.cdc.sinks.base import PipelineSink
from millrace.cdc.sinks.known import sink_of
from millrace.cdc.sources.base import PipelineSource
from millrace.cdc.sources.known import source_of
from millrace.common.configuration import Configuration
from millrace.common.typeinfo import Types
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.table.settings.table_config import TableConfig

INTERVAL = "execution.checkpointing.interval"
DEFAULT_INTERVAL = "3s"
"""of a pipeline that never ends, unless its configuration says another one"""


@dataclass(frozen=True)
class Composed:
    """A pipeline with everything found that it names."""

    pipeline: Pipeline
    source: PipelineSource
    sink: PipelineSink
    rules: tuple[Rule, ...]
    router: Router
    surroundings: Surroundings


def compose(pipeline: Pipeline) -> Composed:
    """:raises PipelineError: a rule, an option or a function is wrong."""
    surroundings = Surroundings(find_functions(pipeline.functions), pipeline.zone or _system_zone())
    rules, routes = rules_of(pipeline), router(pipeline)
    if pipeline.by_table is False:
        pipeline.sink.block.fail(
            "'sink.partitioning.strategy' PRIMARY_KEY: in Millrace all of a table goes to one subtask of the sink, so "
            "that a change of its columns is in order with its rows; leave it out, or say TABLE_ID"
        )
    return Composed(pipeline, source_of(pipeline), sink_of(pipeline), rules, routes, surroundings)


def build(composed: Composed, environment: StreamExecutionEnvironment | None = None) -> StreamExecutionEnvironment:
    """Add the pipeline to a program, a new one unless one is given."""
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
    """A database keeps its log until a checkpoint says what of it is done."""
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
