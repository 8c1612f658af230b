"""Every public name of PyFlink is there, or says clearly that it is not."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from millrace.datastream.not_yet import NOT_YET, module_getattr, not_yet

# The __all__ of PyFlink 2.3.0's modules.
PYFLINK = {
    "window": """Window TimeWindow CountWindow GlobalWindow WindowAssigner TumblingProcessingTimeWindows
        TumblingEventTimeWindows SlidingProcessingTimeWindows SlidingEventTimeWindows ProcessingTimeSessionWindows
        EventTimeSessionWindows DynamicProcessingTimeSessionWindows DynamicEventTimeSessionWindows GlobalWindows
        MergingWindowAssigner CountTumblingWindowAssigner CountSlidingWindowAssigner TriggerResult Trigger
        EventTimeTrigger ProcessingTimeTrigger ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger NeverTrigger
        PurgingTrigger CountTrigger TimeWindowSerializer CountWindowSerializer GlobalWindowSerializer
        SessionWindowTimeGapExtractor""",
    "async_data_stream": "AsyncDataStream",
    "connectors.cassandra": """CassandraSink ConsistencyLevel MapperOptions ClusterBuilder CassandraCommitter
        CassandraFailureHandler""",
    "connectors.dynamic_kafka": """DynamicKafkaSource DynamicKafkaSourceBuilder KafkaMetadataService
        KafkaRecordDeserializationSchema KafkaStreamSetSubscriber KafkaStreamSubscriber StreamPatternSubscriber
        SingleClusterTopicMetadataService""",
    "connectors.elasticsearch": """FlushBackoffType ElasticsearchEmitter Elasticsearch6SinkBuilder
        Elasticsearch7SinkBuilder ElasticsearchSink""",
    "connectors.hybrid_source": "HybridSource HybridSourceBuilder",
    "connectors.jdbc": "JdbcSink JdbcConnectionOptions JdbcExecutionOptions",
    "connectors.kafka": """FlinkKafkaConsumer FlinkKafkaProducer KafkaSource KafkaSourceBuilder KafkaSink
        KafkaSinkBuilder Semantic KafkaTopicPartition KafkaOffsetsInitializer KafkaOffsetResetStrategy
        KafkaRecordSerializationSchema KafkaRecordSerializationSchemaBuilder KafkaTopicSelector""",
    "connectors.kinesis": """KinesisShardAssigner KinesisDeserializationSchema WatermarkTracker PartitionKeyGenerator
        FlinkKinesisConsumer KinesisStreamsSink KinesisStreamsSinkBuilder KinesisFirehoseSink
        KinesisFirehoseSinkBuilder""",
    "connectors.pulsar": """PulsarSource PulsarSourceBuilder StartCursor StopCursor RangeGenerator PulsarSink
        PulsarSinkBuilder MessageDelayer TopicRoutingMode""",
    "connectors.rabbitmq": "RMQConnectionConfig RMQSource RMQSink",
    "formats.avro": """AvroSchema GenericRecordAvroTypeInfo AvroInputFormat AvroBulkWriters
        AvroRowDeserializationSchema AvroRowSerializationSchema""",
    "formats.orc": "OrcBulkWriters",
}
NAMES = [(module, name) for module, names in PYFLINK.items() for name in names.split()]
IMPLEMENTED = {("window", name) for name in ("Window", "TimeWindow", "CountWindow", "GlobalWindow")}

# pyflink.datastream's __all__, by the module of Millrace that has the name; None: not yet.
DATASTREAM = {
    None: """WindowedStream BroadcastStream BroadcastConnectedStream AsyncDataStream WindowAssigner
        MergingWindowAssigner TriggerResult Trigger""",
    "functions": """MapFunction CoMapFunction FlatMapFunction CoFlatMapFunction ReduceFunction FilterFunction
        ProcessFunction KeyedProcessFunction CoProcessFunction KeyedCoProcessFunction WindowFunction
        ProcessWindowFunction AggregateFunction BroadcastProcessFunction KeyedBroadcastProcessFunction AsyncFunction
        RuntimeContext TimerService KeySelector Partitioner SourceFunction SinkFunction AsyncRetryPredicate
        AsyncRetryStrategy""",
    "checkpointing_mode": "CheckpointingMode",
    "checkpoint_config": "CheckpointConfig",
    "externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "state_backend": """StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend CustomStateBackend
        PredefinedOptions""",
    "checkpoint_storage": """CheckpointStorage JobManagerCheckpointStorage FileSystemCheckpointStorage
        CustomCheckpointStorage""",
    "execution_mode": "RuntimeExecutionMode",
    "window": "Window TimeWindow CountWindow GlobalWindow",
    "time_domain": "TimeDomain",
    "slot_sharing_group": "SlotSharingGroup MemorySize",
    "output_tag": "OutputTag",
}


def load(module: str) -> ModuleType:
    return importlib.import_module(f"millrace.datastream.{module}")


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_there_or_says_that_it_is_not(module: str, name: str) -> None:
    loaded = load(module)
    if (module, name) in IMPLEMENTED:
        assert isinstance(getattr(loaded, name), type)
    else:
        with pytest.raises(
            NotImplementedError, match=rf"^pyflink\.datastream\.{module}\.{name} is not in Millrace yet; n"
        ):
            getattr(loaded, name)


def test_every_name_of_pyflinks_front_door_has_a_place() -> None:
    for module, names in DATASTREAM.items():
        for name in names.split():
            assert (f"pyflink.datastream.{name}" in NOT_YET) == (module is None), name
            if module is not None:
                assert hasattr(load(module), name), name


def test_from_import_shows_the_text_to_the_user() -> None:
    with pytest.raises(NotImplementedError) as caught:
        from millrace.datastream.window import TumblingEventTimeWindows  # noqa: F401
    assert str(caught.value) == (
        "pyflink.datastream.window.TumblingEventTimeWindows is not in Millrace yet; "
        "nearest: KeyedProcessFunction with keyed state and timers"
    )


def test_other_names_are_ordinary_attribute_errors() -> None:
    window = load("window")
    with pytest.raises(AttributeError, match=r"module 'millrace.datastream.window' has no attribute 'Tumbling'"):
        window.Tumbling  # noqa: B018
    assert not hasattr(window, "__wrapped__")
    with pytest.raises(ImportError):
        from millrace.datastream.window import Tumbling  # noqa: F401


def test_the_module_may_be_given_by_either_name() -> None:
    for package in ("millrace", "pyflink"):
        with pytest.raises(NotImplementedError, match=r"^pyflink\.datastream\.WindowedStream is not in Millrace yet"):
            module_getattr(f"{package}.datastream")("WindowedStream")


def test_what_is_implemented_is_not_in_the_table() -> None:
    modules = {name.removeprefix("pyflink.datastream.").rpartition(".")[0] for name in NOT_YET}
    for module in modules & PYFLINK.keys():
        public = set(getattr(load(module), "__all__", ()))
        assert not {name for name in public if f"pyflink.datastream.{module}.{name}" in NOT_YET}


def test_every_entry_names_an_alternative() -> None:
    assert all(nearest.strip() for nearest in NOT_YET.values())
    assert str(not_yet("pyflink.x.Y", "Z")) == "pyflink.x.Y is not in Millrace yet; nearest: Z"
