# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The DataStream API: PyFlink's ``pyflink.datastream``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.util.not_yet import lazy_names

if TYPE_CHECKING:
    from millrace.common.functions.async_functions import AsyncFunction, AsyncRetryPredicate, AsyncRetryStrategy
    from millrace.common.functions.element_functions import (
        AggregateFunction,
        CoFlatMapFunction,
        CoGroupFunction,
        CoMapFunction,
        FilterFunction,
        FlatJoinFunction,
        FlatMapFunction,
        JoinFunction,
        KeySelector,
        MapFunction,
        Partitioner,
        ProcessJoinFunction,
        ReduceFunction,
    )
    from millrace.common.functions.function_base import CheckpointedFunction, RuntimeContext
    from millrace.common.functions.process_functions import (
        BroadcastProcessFunction,
        CoProcessFunction,
        KeyedBroadcastProcessFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        ProcessFunction,
        TimeDomain,
        TimerService,
    )
    from millrace.common.functions.source_and_sink_functions import (
        ParallelSourceFunction,
        SinkFunction,
        SourceFunction,
        TwoPhaseCommitSinkFunction,
    )
    from millrace.common.functions.window_functions import (
        ProcessAllWindowFunction,
        ProcessWindowFunction,
        WindowFunction,
    )
    from millrace.common.output_tag import OutputTag
    from millrace.common.state.storage import (
        CheckpointFiles,
        ExternalizedCheckpointRetention,
        KeyValueStore,
        StorePlace,
    )
    from millrace.common.state.ttl import StateTtlConfig
    from millrace.common.window.time_windows import MergingWindowAssigner, WindowAssigner
    from millrace.common.window.triggers import Trigger, TriggerResult
    from millrace.common.window.windows import CountWindow, GlobalWindow, TimeWindow, Window
    from millrace.datastream.async_data_stream import AsyncDataStream
    from millrace.datastream.checkpoint_storage import (
        CheckpointStorage,
        CustomCheckpointStorage,
        FileSystemCheckpointStorage,
        JobManagerCheckpointStorage,
    )
    from millrace.datastream.checkpointing_mode import CheckpointingMode
    from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream
    from millrace.datastream.derived_streams import BroadcastConnectedStream, IterativeStream
    from millrace.datastream.execution_mode import RuntimeExecutionMode
    from millrace.datastream.handles import BroadcastStream, CloseableIterator, DataStreamSink
    from millrace.datastream.job_settings import CheckpointConfig
    from millrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
    from millrace.datastream.state_backend import (
        CustomStateBackend,
        EmbeddedRocksDBStateBackend,
        HashMapStateBackend,
        KeyValueStateBackend,
        PredefinedOptions,
        StateBackend,
    )
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from millrace.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "JoinFunction",
    "KeySelector",
    "MapFunction",
    "Partitioner",
    "ProcessJoinFunction",
    "ReduceFunction",
    "AllWindowedStream",
    "WindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "IterativeStream",
    "BroadcastProcessFunction",
    "CoProcessFunction",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessFunction",
    "TimeDomain",
    "TimerService",
    "BroadcastStream",
    "CloseableIterator",
    "DataStreamSink",
    "CheckpointConfig",
    "CheckpointFiles",
    "ExternalizedCheckpointRetention",
    "KeyValueStore",
    "StorePlace",
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
    "CheckpointedFunction",
    "RuntimeContext",
    "CheckpointingMode",
    "ConnectedStreams",
    "DataStream",
    "KeyedStream",
    "CountWindow",
    "GlobalWindow",
    "TimeWindow",
    "Window",
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "KeyValueStateBackend",
    "PredefinedOptions",
    "StateBackend",
    "MemorySize",
    "SlotSharingGroup",
    "MergingWindowAssigner",
    "WindowAssigner",
    "OutputTag",
    "ParallelSourceFunction",
    "SinkFunction",
    "SourceFunction",
    "TwoPhaseCommitSinkFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
    "RuntimeExecutionMode",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "Trigger",
    "TriggerResult",
]

_HOMES = {
    "AggregateFunction": "common.functions.element_functions",
    "CoFlatMapFunction": "common.functions.element_functions",
    "CoGroupFunction": "common.functions.element_functions",
    "CoMapFunction": "common.functions.element_functions",
    "FilterFunction": "common.functions.element_functions",
    "FlatJoinFunction": "common.functions.element_functions",
    "FlatMapFunction": "common.functions.element_functions",
    "JoinFunction": "common.functions.element_functions",
    "KeySelector": "common.functions.element_functions",
    "MapFunction": "common.functions.element_functions",
    "Partitioner": "common.functions.element_functions",
    "ProcessJoinFunction": "common.functions.element_functions",
    "ReduceFunction": "common.functions.element_functions",
    "AllWindowedStream": "datastream.windowed_stream",
    "WindowedStream": "datastream.windowed_stream",
    "AsyncDataStream": "datastream.async_data_stream",
    "AsyncFunction": "common.functions.async_functions",
    "AsyncRetryPredicate": "common.functions.async_functions",
    "AsyncRetryStrategy": "common.functions.async_functions",
    "BroadcastConnectedStream": "datastream.derived_streams",
    "IterativeStream": "datastream.derived_streams",
    "BroadcastProcessFunction": "common.functions.process_functions",
    "CoProcessFunction": "common.functions.process_functions",
    "KeyedBroadcastProcessFunction": "common.functions.process_functions",
    "KeyedCoProcessFunction": "common.functions.process_functions",
    "KeyedProcessFunction": "common.functions.process_functions",
    "ProcessFunction": "common.functions.process_functions",
    "TimeDomain": "common.functions.process_functions",
    "TimerService": "common.functions.process_functions",
    "BroadcastStream": "datastream.handles",
    "CloseableIterator": "datastream.handles",
    "DataStreamSink": "datastream.handles",
    "CheckpointConfig": "datastream.job_settings",
    "CheckpointFiles": "common.state.storage",
    "ExternalizedCheckpointRetention": "common.state.storage",
    "KeyValueStore": "common.state.storage",
    "StorePlace": "common.state.storage",
    "CheckpointStorage": "datastream.checkpoint_storage",
    "CustomCheckpointStorage": "datastream.checkpoint_storage",
    "FileSystemCheckpointStorage": "datastream.checkpoint_storage",
    "JobManagerCheckpointStorage": "datastream.checkpoint_storage",
    "CheckpointedFunction": "common.functions.function_base",
    "RuntimeContext": "common.functions.function_base",
    "CheckpointingMode": "datastream.checkpointing_mode",
    "ConnectedStreams": "datastream.data_stream",
    "DataStream": "datastream.data_stream",
    "KeyedStream": "datastream.data_stream",
    "CountWindow": "common.window.windows",
    "GlobalWindow": "common.window.windows",
    "TimeWindow": "common.window.windows",
    "Window": "common.window.windows",
    "CustomStateBackend": "datastream.state_backend",
    "EmbeddedRocksDBStateBackend": "datastream.state_backend",
    "HashMapStateBackend": "datastream.state_backend",
    "KeyValueStateBackend": "datastream.state_backend",
    "PredefinedOptions": "datastream.state_backend",
    "StateBackend": "datastream.state_backend",
    "MemorySize": "datastream.slot_sharing_group",
    "SlotSharingGroup": "datastream.slot_sharing_group",
    "MergingWindowAssigner": "common.window.time_windows",
    "WindowAssigner": "common.window.time_windows",
    "OutputTag": "common.output_tag",
    "ParallelSourceFunction": "common.functions.source_and_sink_functions",
    "SinkFunction": "common.functions.source_and_sink_functions",
    "SourceFunction": "common.functions.source_and_sink_functions",
    "TwoPhaseCommitSinkFunction": "common.functions.source_and_sink_functions",
    "ProcessAllWindowFunction": "common.functions.window_functions",
    "ProcessWindowFunction": "common.functions.window_functions",
    "WindowFunction": "common.functions.window_functions",
    "RuntimeExecutionMode": "datastream.execution_mode",
    "StateTtlConfig": "common.state.ttl",
    "StreamExecutionEnvironment": "datastream.stream_execution_environment",
    "Trigger": "common.window.triggers",
    "TriggerResult": "common.window.triggers",
}

__getattr__ = lazy_names(__name__, _HOMES)
