"""The names of ``pyflink.datastream`` but its connectors and formats."""

from __future__ import annotations

from millrace.pyflink_names.public_module import CONVERTS_JAVA, INTERNAL, WRAPS_JAVA, PublicModule

DATASTREAM_NAMES: dict[str, PublicModule] = {
    "datastream": PublicModule(
        "The DataStream API: PyFlink's ``pyflink.datastream``.",
        here={
            "common.functions.element_functions": """
                AggregateFunction CoFlatMapFunction CoGroupFunction CoMapFunction FilterFunction FlatJoinFunction
                FlatMapFunction JoinFunction KeySelector MapFunction Partitioner ProcessJoinFunction ReduceFunction
            """,
            "datastream.windowed_stream": "AllWindowedStream WindowedStream",
            "datastream.async_data_stream": "AsyncDataStream",
            "common.functions.async_functions": "AsyncFunction AsyncRetryPredicate AsyncRetryStrategy",
            "datastream.derived_streams": "BroadcastConnectedStream IterativeStream",
            "common.functions.process_functions": """
                BroadcastProcessFunction CoProcessFunction KeyedBroadcastProcessFunction KeyedCoProcessFunction
                KeyedProcessFunction ProcessFunction TimeDomain TimerService
            """,
            "datastream.handles": "BroadcastStream CloseableIterator DataStreamSink",
            "datastream.job_settings": "CheckpointConfig",
            "common.state.storage": "CheckpointFiles ExternalizedCheckpointRetention KeyValueStore StorePlace",
            "datastream.checkpoint_storage": """
                CheckpointStorage CustomCheckpointStorage FileSystemCheckpointStorage JobManagerCheckpointStorage
            """,
            "common.functions.function_base": "CheckpointedFunction RuntimeContext",
            "datastream.checkpointing_mode": "CheckpointingMode",
            "datastream.data_stream": "ConnectedStreams DataStream KeyedStream",
            "common.window.windows": "CountWindow GlobalWindow TimeWindow Window",
            "datastream.state_backend": """
                CustomStateBackend EmbeddedRocksDBStateBackend HashMapStateBackend KeyValueStateBackend
                PredefinedOptions StateBackend
            """,
            "datastream.slot_sharing_group": "MemorySize SlotSharingGroup",
            "common.window.time_windows": "MergingWindowAssigner WindowAssigner",
            "common.output_tag": "OutputTag",
            "common.functions.source_and_sink_functions": """
                ParallelSourceFunction SinkFunction SourceFunction TwoPhaseCommitSinkFunction
            """,
            "common.functions.window_functions": "ProcessAllWindowFunction ProcessWindowFunction WindowFunction",
            "datastream.execution_mode": "RuntimeExecutionMode",
            "common.state.ttl": "StateTtlConfig",
            "datastream.stream_execution_environment": "StreamExecutionEnvironment",
            "common.window.triggers": "Trigger TriggerResult",
        },
        older={
            "legacy.assigners": """
                AscendingTimestampExtractor AssignerWithPeriodicWatermarks AssignerWithPunctuatedWatermarks
                BoundedOutOfOrdernessTimestampExtractor
            """,
            "legacy.stream_settings": """
                FsStateBackend MemoryStateBackend RocksDBStateBackend ExternalizedCheckpointCleanup
            """,
            "legacy.stream_operations": "TimeCharacteristic FoldFunction OutputSelector ListCheckpointed",
            "legacy.connectors": "TextInputFormat",
        },
        lazy=True,
    ),
    "datastream.async_data_stream": PublicModule(here={"datastream.async_data_stream": "AsyncDataStream"}),
    "datastream.async_retry_predicates": PublicModule(
        "Conditions for retries of async calls, under PyFlink's path.",
        here={
            "common.functions.async_functions": """
                empty_result_predicate exception_type_predicate has_exception_predicate
            """,
        },
    ),
    "datastream.async_retry_strategies": PublicModule(
        "Retries of async calls, under PyFlink's path.",
        here={
            "common.functions.async_functions": """
                ExponentialBackoffDelayRetryStrategy FixedDelayRetryStrategy NO_RETRY_STRATEGY NoRetryStrategy
                RetryPredicate
            """,
        },
    ),
    "datastream.checkpoint_config": PublicModule(
        "``CheckpointConfig``, under PyFlink's path.",
        here={"datastream.job_settings": "CheckpointConfig"},
        older={"legacy.stream_settings": "ExternalizedCheckpointCleanup"},
    ),
    "datastream.checkpoint_storage": PublicModule(
        here={
            "datastream.checkpoint_storage": """
                CheckpointStorage JobManagerCheckpointStorage FileSystemCheckpointStorage CustomCheckpointStorage
            """,
            "common.state.storage": "CheckpointFiles",
        },
    ),
    "datastream.checkpointing_mode": PublicModule(here={"datastream.checkpointing_mode": "CheckpointingMode"}),
    "datastream.data_stream": PublicModule(
        here={
            "datastream.handles": "CloseableIterator DataStreamSink",
            "datastream.data_stream": "ConnectedStreams DataStream KeyedStream",
        },
        unlisted={
            "datastream.derived_streams": "CachedDataStream BroadcastConnectedStream",
            "datastream.windowed_stream": "WindowedStream AllWindowedStream",
            "datastream.handles": "BroadcastStream",
        },
        absent={INTERNAL: "WINDOW_STATE_NAME"},
        older={"legacy.stream_operations": "SplitStream"},
    ),
    "datastream.execution_mode": PublicModule(here={"datastream.execution_mode": "RuntimeExecutionMode"}),
    "datastream.externalized_checkpoint_retention": PublicModule(
        "``ExternalizedCheckpointRetention``, under PyFlink's path.",
        here={"common.state.storage": "ExternalizedCheckpointRetention"},
    ),
    "datastream.functions": PublicModule(
        "The functions that a user writes, under PyFlink's path.",
        here={
            "common.functions.function_base": """
                Function GlobalAggregateManager KeyedStateStore RuntimeContext CheckpointedFunction
                FunctionInitializationContext FunctionSnapshotContext
            """,
            "common.functions.element_functions": """
                MapFunction CoMapFunction FlatMapFunction CoFlatMapFunction ReduceFunction AggregateFunction
                KeySelector NullByteKeySelector FilterFunction Partitioner JoinFunction FlatJoinFunction
                CoGroupFunction ProcessJoinFunction
            """,
            "common.functions.source_and_sink_functions": """
                SourceFunction ParallelSourceFunction SinkFunction TwoPhaseCommitSinkFunction
            """,
            "common.functions.process_functions": """
                ProcessFunction CoProcessFunction KeyedProcessFunction KeyedCoProcessFunction TimerService
                BaseBroadcastProcessFunction BroadcastProcessFunction KeyedBroadcastProcessFunction
            """,
            "common.functions.window_functions": """
                WindowFunction AllWindowFunction ProcessWindowFunction ProcessAllWindowFunction
                PassThroughWindowFunction PassThroughAllWindowFunction
            """,
            "common.functions.async_functions": """
                AsyncFunction AsyncFunctionDescriptor AsyncRetryPredicate AsyncRetryStrategy
            """,
        },
        absent={
            INTERNAL: """
                FunctionWrapper ReduceFunctionWrapper InternalWindowFunction InternalSingleValueWindowFunction
                InternalSingleValueAllWindowFunction InternalIterableWindowFunction InternalIterableAllWindowFunction
                InternalProcessWindowContext InternalProcessAllWindowContext InternalSingleValueProcessWindowFunction
                InternalSingleValueProcessAllWindowFunction InternalIterableProcessWindowFunction
                InternalIterableProcessAllWindowFunction
            """,
            WRAPS_JAVA: "JavaFunctionWrapper",
        },
        older={"legacy.stream_operations": "FoldFunction OutputSelector ListCheckpointed"},
    ),
    "datastream.output_tag": PublicModule(
        "Side outputs, under PyFlink's path.",
        here={"common.output_tag": "OutputTag"},
    ),
    "datastream.slot_sharing_group": PublicModule(
        here={"datastream.slot_sharing_group": "MemorySize SlotSharingGroup"},
    ),
    "datastream.state": PublicModule(
        "State descriptors and handles, under PyFlink's path.",
        here={
            "common.state.handles": """
                ValueStateDescriptor ValueState ListStateDescriptor ListState MapStateDescriptor MapState
                ReducingStateDescriptor ReducingState AggregatingStateDescriptor AggregatingState
                ReadOnlyBroadcastState BroadcastState OperatorStateStore AppendingState MergingState State
                StateDescriptor
            """,
            "common.state.ttl": "StateTtlConfig",
        },
    ),
    "datastream.state_backend": PublicModule(
        here={
            "datastream.state_backend": """
                StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend KeyValueStateBackend CustomStateBackend
                PredefinedOptions
            """,
            "common.state.storage": "KeyValueStore StorePlace",
        },
        older={"legacy.stream_settings": "FsStateBackend MemoryStateBackend RocksDBStateBackend"},
    ),
    "datastream.stream_execution_environment": PublicModule(
        here={"datastream.stream_execution_environment": "StreamExecutionEnvironment"},
    ),
    "datastream.time_domain": PublicModule(
        "The two clocks of timers, under PyFlink's path.",
        here={"common.functions.process_functions": "TimeDomain"},
    ),
    "datastream.timerservice": PublicModule(
        "The timer service, under PyFlink's path.",
        here={"common.functions.process_functions": "TimerService"},
    ),
    "datastream.utils": PublicModule(
        "``ResultTypeQueryable``. PyFlink's other helpers of this module convert Java objects.",
        here={"common.io": "ResultTypeQueryable"},
        absent={
            CONVERTS_JAVA: """
                create_hadoop_configuration create_java_properties convert_to_python_obj pickled_bytes_to_python_obj
            """,
        },
    ),
    "datastream.window": PublicModule(
        "Windows, triggers and evictors, under PyFlink's path.",
        here={
            "common.window.windows": """
                Window TimeWindow CountWindow GlobalWindow MergeCallback TimeWindowSerializer CountWindowSerializer
                GlobalWindowSerializer
            """,
            "common.window.time_windows": """
                WindowAssigner TumblingProcessingTimeWindows TumblingEventTimeWindows SlidingProcessingTimeWindows
                SlidingEventTimeWindows CumulativeProcessingTimeWindows CumulativeEventTimeWindows
                MergingWindowAssigner
            """,
            "common.window.session_windows": """
                ProcessingTimeSessionWindows EventTimeSessionWindows DynamicProcessingTimeSessionWindows
                DynamicEventTimeSessionWindows SessionWindowTimeGapExtractor
            """,
            "common.window.count_windows": """
                GlobalWindows CountTumblingWindowAssigner CountSlidingWindowAssigner EndOfStreamTrigger
            """,
            "common.window.triggers": """
                TriggerResult Trigger EventTimeTrigger ProcessingTimeTrigger NeverTrigger PurgingTrigger
            """,
            "common.window.stateful_triggers": """
                ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger CountTrigger DeltaTrigger
                ProcessingTimeoutTrigger
            """,
            "common.window.evictors": "DeltaFunction Evictor CountEvictor TimeEvictor DeltaEvictor TimestampedValue",
        },
        absent={INTERNAL: "WindowOperationDescriptor Min long_to_int_with_bit_mixing mod_inverse"},
    ),
}
