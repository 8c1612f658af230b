"""Makes the operator of a description."""

from __future__ import annotations

from millrace.runtime.bases.base import Operator
from millrace.runtime.jobs import specs
from millrace.runtime.operators.assign_timestamps import AssignTimestampsOperator
from millrace.runtime.operators.async_wait import AsyncWaitOperator
from millrace.runtime.operators.broadcast_process import (
    BatchBroadcastProcessOperator,
    BatchKeyedBroadcastProcessOperator,
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from millrace.runtime.operators.cache import CacheOperator
from millrace.runtime.operators.close_with import CloseWithOperator
from millrace.runtime.operators.co_process import (
    BatchKeyedCoProcessOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from millrace.runtime.operators.collect import CollectOperator, PrintOperator
from millrace.runtime.operators.filter import FilterOperator
from millrace.runtime.operators.flat_map import FlatMapOperator
from millrace.runtime.operators.interval_join import BatchIntervalJoinOperator, IntervalJoinOperator
from millrace.runtime.operators.iterate import IterateOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.operators.match_pattern import BatchMatchPatternOperator, MatchPatternOperator
from millrace.runtime.operators.match_patterns import BatchMatchPatternsOperator, MatchPatternsOperator
from millrace.runtime.operators.process import BatchKeyedProcessOperator, KeyedProcessOperator, ProcessOperator
from millrace.runtime.operators.reduce import BatchReduceOperator, ReduceOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.operators.stateful_sink import StatefulSinkOperator
from millrace.runtime.windows.choice import window_operator

STREAMING: dict[type[specs.Spec], type[Operator]] = {
    specs.Source: SourceOperator,
    specs.Map: MapOperator,
    specs.FlatMap: FlatMapOperator,
    specs.Filter: FilterOperator,
    specs.AssignTimestamps: AssignTimestampsOperator,
    specs.Process: ProcessOperator,
    specs.KeyedProcess: KeyedProcessOperator,
    specs.CoProcess: CoProcessOperator,
    specs.KeyedCoProcess: KeyedCoProcessOperator,
    specs.BroadcastProcess: BroadcastProcessOperator,
    specs.KeyedBroadcastProcess: KeyedBroadcastProcessOperator,
    specs.Reduce: ReduceOperator,
    specs.IntervalJoin: IntervalJoinOperator,
    specs.MatchPattern: MatchPatternOperator,
    specs.MatchPatterns: MatchPatternsOperator,
    specs.AsyncWait: AsyncWaitOperator,
    specs.FillCache: CacheOperator,
    specs.Iterate: IterateOperator,
    specs.CloseWith: CloseWithOperator,
    specs.Sink: SinkOperator,
    specs.StatefulSink: StatefulSinkOperator,
    specs.Print: PrintOperator,
    specs.Collect: CollectOperator,
}

BATCH: dict[type[specs.Spec], type[Operator]] = {
    **STREAMING,
    specs.KeyedProcess: BatchKeyedProcessOperator,
    specs.KeyedCoProcess: BatchKeyedCoProcessOperator,
    specs.BroadcastProcess: BatchBroadcastProcessOperator,
    specs.KeyedBroadcastProcess: BatchKeyedBroadcastProcessOperator,
    specs.Reduce: BatchReduceOperator,
    specs.IntervalJoin: BatchIntervalJoinOperator,
    specs.MatchPattern: BatchMatchPatternOperator,
    specs.MatchPatterns: BatchMatchPatternsOperator,
}


def make_operator(spec: specs.Spec, final: bool) -> Operator:
    """A new operator for a subtask.

    :param final: whether only final results are wanted: the form of batch mode.
    """
    if isinstance(spec, specs.TableStep):
        return spec.config.operator()
    return operator_class(spec, final)(*spec.parts())


def operator_class(spec: specs.Spec, final: bool) -> type[Operator]:
    """The class of that operator. Checkpoints record its name."""
    if isinstance(spec, specs.Window):
        return window_operator(spec.strategy, final)
    if isinstance(spec, specs.TableStep):
        return type(spec.config.operator())
    return (BATCH if final else STREAMING)[type(spec)]
