"""The names of ``pyflink.common``."""

from __future__ import annotations

from millrace.pyflink_names.public_module import WRAPS_JAVA, PublicModule

COMMON_NAMES: dict[str, PublicModule] = {
    "common": PublicModule(
        "Classes that DataStream and Table programs share: types, rows, time, watermarks, configuration, jobs.",
        here={
            "common.configuration": "Configuration ConfigOption ConfigOptions",
            "common.execution_config": "ExecutionConfig",
            "common.typeinfo": "TypeInformation Types",
            "common.serializer": "TypeSerializer",
            "common.serialization": """
                SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder
            """,
            "common.jobs": "CompletableFuture JobClient JobExecutionResult JobID JobStatus",
            "common.input_dependency_constraint": "InputDependencyConstraint",
            "common.restart_strategy": "RestartStrategies RestartStrategyConfiguration SuppressRestartsException",
            "common.types": "Row RowKind",
            "common.watermark_strategy": """
                WatermarkStrategy AssignerWithPeriodicWatermarksWrapper TimestampAssigner WatermarkGenerator
                WatermarkOutput
            """,
            "common.time": "Duration Instant Time",
            "common.coercion": "TypeMismatchError",
        },
        older={
            "legacy.assigners": """
                AscendingTimestampExtractor AssignerWithPeriodicWatermarks AssignerWithPunctuatedWatermarks
                BoundedOutOfOrdernessTimestampExtractor
            """,
            "legacy.stream_settings": "ExecutionMode",
        },
        late={
            "formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
            "formats.csv": "CsvRowDeserializationSchema CsvRowSerializationSchema",
            "formats.avro": "AvroRowDeserializationSchema AvroRowSerializationSchema",
        },
    ),
    "common.accumulators": PublicModule(
        here={
            "common.accumulators": """
                Accumulator AverageAccumulator DoubleCounter DoubleMaximum DoubleMinimum GrowingAccumulator Histogram
                IntCounter IntMaximum IntMinimum ListAccumulator LongCounter LongMaximum LongMinimum
            """,
        },
    ),
    "common.checkpoint_files": PublicModule(
        "The old import path of ``CheckpointFiles``, for programs with a checkpoint storage of their own.",
        here={"common.state.storage": "CheckpointFiles SCHEME own_uri"},
    ),
    "common.completable_future": PublicModule(
        "Futures, under PyFlink's path.",
        here={"common.jobs": "CompletableFuture"},
    ),
    "common.config_options": PublicModule(
        "``ConfigOption`` and ``ConfigOptions``, under PyFlink's path.",
        here={"common.configuration": "ConfigOption ConfigOptions"},
    ),
    "common.configuration": PublicModule(here={"common.configuration": "Configuration"}),
    "common.constants": PublicModule(here={"common.constants": "MAX_LONG_VALUE MIN_LONG_VALUE DEFAULT_OUTPUT_TAG"}),
    "common.execution_config": PublicModule(here={"common.execution_config": "ExecutionConfig"}),
    "common.input_dependency_constraint": PublicModule(
        here={"common.input_dependency_constraint": "InputDependencyConstraint"},
    ),
    "common.io": PublicModule(here={"common.io": "InputFormat ResultTypeQueryable"}),
    "common.job_client": PublicModule(
        "The client of a job, under PyFlink's path.",
        here={"common.jobs": "JobClient"},
    ),
    "common.job_execution_result": PublicModule(
        "The outcome of a job, under PyFlink's path.",
        here={"common.jobs": "DetachedJobExecutionResult JobExecutionResult"},
    ),
    "common.job_id": PublicModule(
        "A job's identifier, under PyFlink's path.",
        here={"common.jobs": "JobID"},
    ),
    "common.job_status": PublicModule(
        "The states of a job, under PyFlink's path.",
        here={"common.jobs": "JobStatus"},
    ),
    "common.restart_strategy": PublicModule(
        here={
            "common.restart_strategy": "RestartStrategies RestartStrategyConfiguration SuppressRestartsException",
        },
    ),
    "common.serialization": PublicModule(
        here={
            "common.serialization": """
                BulkWriter BulkWriterFactory ByteArraySchema DeserializationSchema Encoder RowFieldExtractorSchema
                SerializationSchema SimpleStringSchema RowDataBulkWriterFactory
            """,
        },
        older={
            "legacy.formats": """
                AvroRowDeserializationSchema AvroRowSerializationSchema CsvRowDeserializationSchema
                CsvRowSerializationSchema JsonRowDeserializationSchema JsonRowSerializationSchema
            """,
        },
    ),
    "common.serializer": PublicModule(here={"common.serializer": "TypeSerializer VoidNamespaceSerializer void"}),
    "common.sink": PublicModule(
        here={"common.sink": "Committer NamedSink Sink SinkWriter SinkWriterContext WriterInitContext"},
    ),
    "common.source": PublicModule(
        here={
            "common.source": """
                Boundedness InputStatus ReaderOutput Source SourceEvent SourceReader SourceReaderContext
                SplitEnumerator SplitEnumeratorContext split_id
            """,
        },
    ),
    "common.state_store": PublicModule(
        "The old import path of ``KeyValueStore``, for programs with a state backend of their own.",
        here={"common.state.storage": "KeyValueStore StorePlace"},
    ),
    "common.time": PublicModule(here={"common.time": "Duration Instant Time to_millis"}),
    "common.typeinfo": PublicModule(
        here={
            "common.typeinfo": """
                TypeInformation Types infer_type type_from_hint BasicType BasicTypeInfo InstantTypeInfo
                SqlTimeTypeInfo PrimitiveArrayTypeInfo BasicArrayTypeInfo ObjectArrayTypeInfo PickledBytesTypeInfo
                RowTypeInfo TupleTypeInfo DateTypeInfo TimeTypeInfo TimestampTypeInfo ListTypeInfo MapTypeInfo
                LocalTimeTypeInfo ExternalTypeInfo
            """,
        },
    ),
    "common.types": PublicModule(here={"common.types": "Row RowKind row_of"}),
    "common.utils": PublicModule(absent={WRAPS_JAVA: "JavaObjectWrapper"}),
    "common.watermark_strategy": PublicModule(
        here={
            "common.watermark_strategy": """
                AssignerWithPeriodicWatermarksWrapper BoundedOutOfOrdernessWatermarks MonotonousTimestamps
                TimestampAssigner WatermarkAlignment WatermarkGenerator WatermarkOutput WatermarkStrategy
            """,
        },
        older={
            "legacy.assigners": """
                AscendingTimestampExtractor AssignerWithPeriodicWatermarks AssignerWithPunctuatedWatermarks
                BoundedOutOfOrdernessTimestampExtractor
            """,
        },
    ),
}
