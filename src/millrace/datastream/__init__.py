"""The DataStream API: PyFlink's ``pyflink.datastream``.

Names are imported when they are first used: the runtime needs the function classes of this package, and must not pull
the handles (and through them itself) in.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from millrace.datastream.not_yet import module_getattr

if TYPE_CHECKING:
    from millrace.datastream.async_data_stream import AsyncDataStream as AsyncDataStream
    from millrace.datastream.checkpoint_config import CheckpointConfig as CheckpointConfig
    from millrace.datastream.checkpoint_storage import CheckpointStorage as CheckpointStorage
    from millrace.datastream.checkpoint_storage import CustomCheckpointStorage as CustomCheckpointStorage
    from millrace.datastream.checkpoint_storage import FileSystemCheckpointStorage as FileSystemCheckpointStorage
    from millrace.datastream.checkpoint_storage import JobManagerCheckpointStorage as JobManagerCheckpointStorage
    from millrace.datastream.checkpointing_mode import CheckpointingMode as CheckpointingMode
    from millrace.datastream.data_stream import ConnectedStreams as ConnectedStreams
    from millrace.datastream.data_stream import DataStream as DataStream
    from millrace.datastream.data_stream import KeyedStream as KeyedStream
    from millrace.datastream.derived_streams import BroadcastConnectedStream as BroadcastConnectedStream
    from millrace.datastream.derived_streams import IterativeStream as IterativeStream
    from millrace.datastream.execution_mode import RuntimeExecutionMode as RuntimeExecutionMode
    from millrace.datastream.handles import BroadcastStream as BroadcastStream
    from millrace.datastream.handles import CloseableIterator as CloseableIterator
    from millrace.datastream.handles import DataStreamSink as DataStreamSink
    from millrace.datastream.stream_execution_environment import (
        StreamExecutionEnvironment as StreamExecutionEnvironment,
    )
    from millrace.datastream.windowed_stream import AllWindowedStream as AllWindowedStream
    from millrace.datastream.windowed_stream import WindowedStream as WindowedStream

_MODULES = {
    "derived_streams": "BroadcastConnectedStream IterativeStream",
    "handles": "BroadcastStream",
    "async_data_stream": "AsyncDataStream",
    "checkpoint_config": "CheckpointConfig",
    "checkpoint_storage": """
        CheckpointFiles CheckpointStorage CustomCheckpointStorage FileSystemCheckpointStorage
        JobManagerCheckpointStorage
    """,
    "checkpointing_mode": "CheckpointingMode",
    "data_stream": "CloseableIterator ConnectedStreams DataStream DataStreamSink KeyedStream",
    "execution_mode": "RuntimeExecutionMode",
    "externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "functions": """
        AggregateFunction AsyncFunction AsyncRetryPredicate AsyncRetryStrategy BroadcastProcessFunction
        CheckpointedFunction CoFlatMapFunction CoGroupFunction CoMapFunction CoProcessFunction FilterFunction
        FlatJoinFunction FlatMapFunction JoinFunction KeyedBroadcastProcessFunction KeyedCoProcessFunction
        KeyedProcessFunction KeySelector MapFunction ParallelSourceFunction Partitioner ProcessAllWindowFunction
        ProcessFunction ProcessJoinFunction ProcessWindowFunction ReduceFunction RuntimeContext SinkFunction
        SourceFunction TwoPhaseCommitSinkFunction WindowFunction
    """,
    "output_tag": "OutputTag",
    "slot_sharing_group": "MemorySize SlotSharingGroup",
    "state": "StateTtlConfig",
    "state_backend": """
        CustomStateBackend EmbeddedRocksDBStateBackend HashMapStateBackend KeyValueStateBackend KeyValueStore
        PredefinedOptions StateBackend StorePlace
    """,
    "stream_execution_environment": "StreamExecutionEnvironment",
    "time_domain": "TimeDomain",
    "timerservice": "TimerService",
    "window": """
        CountWindow GlobalWindow MergingWindowAssigner TimeWindow Trigger TriggerResult Window WindowAssigner
    """,
    "windowed_stream": "AllWindowedStream WindowedStream",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)

_missing = module_getattr(__name__)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        return _missing(name)
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
