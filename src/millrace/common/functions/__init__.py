"""The functions that a user writes (PyFlink: ``pyflink.datastream.functions``)."""

from __future__ import annotations

from millrace.common.functions.aggregate import AggregateFunction
from millrace.common.functions.asynchronous import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from millrace.common.functions.base import Function, GlobalAggregateManager, KeyedStateStore, RuntimeContext
from millrace.common.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from millrace.common.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from millrace.common.functions.join import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from millrace.common.functions.process import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from millrace.common.functions.simple import (
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ReduceFunction,
)
from millrace.common.functions.source_sink import ParallelSourceFunction, SinkFunction, SourceFunction
from millrace.common.functions.two_phase_commit import TwoPhaseCommitSinkFunction
from millrace.common.functions.window import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.common.timerservice import TimerService

__all__ = [
    "Function",
    "GlobalAggregateManager",
    "KeyedStateStore",
    "RuntimeContext",
    "MapFunction",
    "CoMapFunction",
    "FlatMapFunction",
    "CoFlatMapFunction",
    "ReduceFunction",
    "AggregateFunction",
    "KeySelector",
    "NullByteKeySelector",
    "FilterFunction",
    "Partitioner",
    "SourceFunction",
    "ParallelSourceFunction",
    "SinkFunction",
    "TwoPhaseCommitSinkFunction",
    "ProcessFunction",
    "CoProcessFunction",
    "KeyedProcessFunction",
    "KeyedCoProcessFunction",
    "JoinFunction",
    "FlatJoinFunction",
    "CoGroupFunction",
    "ProcessJoinFunction",
    "TimerService",
    "WindowFunction",
    "AllWindowFunction",
    "ProcessWindowFunction",
    "ProcessAllWindowFunction",
    "PassThroughWindowFunction",
    "PassThroughAllWindowFunction",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
]
