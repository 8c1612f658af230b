# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Connectors under PyFlink's names. The old names of this package itself (``connectors.FileSink``) work too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.util.not_yet import lazy_names

if TYPE_CHECKING:
    from millrace.connectors.file_system.file_format import StreamFormat as StreamFormat
    from millrace.connectors.file_system.file_listing import FileEnumeratorProvider as FileEnumeratorProvider
    from millrace.connectors.file_system.file_listing import FileSplitAssignerProvider as FileSplitAssignerProvider
    from millrace.connectors.file_system.file_sink import FileSink as FileSink
    from millrace.connectors.file_system.file_sink import StreamingFileSink as StreamingFileSink
    from millrace.connectors.file_system.file_source import FileSource as FileSource
    from millrace.connectors.file_system.file_source import FileSourceBuilder as FileSourceBuilder
    from millrace.connectors.file_system.part_policies import BucketAssigner as BucketAssigner
    from millrace.connectors.file_system.part_policies import OutputFileConfig as OutputFileConfig
    from millrace.connectors.file_system.part_policies import RollingPolicy as RollingPolicy
    from millrace.connectors.generated_sources import DataGeneratorSource as DataGeneratorSource
    from millrace.connectors.generated_sources import NumberSequenceSource as NumberSequenceSource
    from millrace.connectors.jdbc.jdbc_sink import JdbcConnectionOptions as JdbcConnectionOptions
    from millrace.connectors.jdbc.jdbc_sink import JdbcExecutionOptions as JdbcExecutionOptions
    from millrace.connectors.jdbc.jdbc_sink import JdbcSink as JdbcSink
    from millrace.connectors.kafka.dynamic_kafka_enumerator import KafkaMetadataService as KafkaMetadataService
    from millrace.connectors.kafka.dynamic_kafka_enumerator import KafkaStreamSetSubscriber as KafkaStreamSetSubscriber
    from millrace.connectors.kafka.dynamic_kafka_enumerator import KafkaStreamSubscriber as KafkaStreamSubscriber
    from millrace.connectors.kafka.dynamic_kafka_enumerator import (
        SingleClusterTopicMetadataService as SingleClusterTopicMetadataService,
    )
    from millrace.connectors.kafka.dynamic_kafka_enumerator import StreamPatternSubscriber as StreamPatternSubscriber
    from millrace.connectors.kafka.dynamic_kafka_source import DynamicKafkaSource as DynamicKafkaSource
    from millrace.connectors.kafka.dynamic_kafka_source import DynamicKafkaSourceBuilder as DynamicKafkaSourceBuilder
    from millrace.connectors.kafka.kafka_legacy import FlinkKafkaConsumer as FlinkKafkaConsumer
    from millrace.connectors.kafka.kafka_legacy import FlinkKafkaProducer as FlinkKafkaProducer
    from millrace.connectors.kafka.kafka_legacy import Semantic as Semantic
    from millrace.connectors.kafka.kafka_records import (
        KafkaRecordDeserializationSchema as KafkaRecordDeserializationSchema,
    )
    from millrace.connectors.kafka.kafka_source import KafkaSource as KafkaSource
    from millrace.connectors.rabbitmq.rabbitmq_streams import RMQConnectionConfig as RMQConnectionConfig
    from millrace.connectors.rabbitmq.rabbitmq_streams import RMQSink as RMQSink
    from millrace.connectors.rabbitmq.rabbitmq_streams import RMQSource as RMQSource

__all__ = [
    "Sink",
    "Source",
    "DeliveryGuarantee",
]

_HOMES = {
    "NumberSequenceSource": "connectors.generated_sources",
    "DataGeneratorSource": "connectors.generated_sources",
    "JdbcSink": "connectors.jdbc.jdbc_sink",
    "JdbcConnectionOptions": "connectors.jdbc.jdbc_sink",
    "JdbcExecutionOptions": "connectors.jdbc.jdbc_sink",
    "KafkaSource": "connectors.kafka.kafka_source",
    "FlinkKafkaConsumer": "connectors.kafka.kafka_legacy",
    "FlinkKafkaProducer": "connectors.kafka.kafka_legacy",
    "Semantic": "connectors.kafka.kafka_legacy",
    "DynamicKafkaSource": "connectors.kafka.dynamic_kafka_source",
    "DynamicKafkaSourceBuilder": "connectors.kafka.dynamic_kafka_source",
    "KafkaMetadataService": "connectors.kafka.dynamic_kafka_enumerator",
    "KafkaStreamSetSubscriber": "connectors.kafka.dynamic_kafka_enumerator",
    "KafkaStreamSubscriber": "connectors.kafka.dynamic_kafka_enumerator",
    "StreamPatternSubscriber": "connectors.kafka.dynamic_kafka_enumerator",
    "SingleClusterTopicMetadataService": "connectors.kafka.dynamic_kafka_enumerator",
    "KafkaRecordDeserializationSchema": "connectors.kafka.kafka_records",
    "RMQSource": "connectors.rabbitmq.rabbitmq_streams",
    "RMQSink": "connectors.rabbitmq.rabbitmq_streams",
    "RMQConnectionConfig": "connectors.rabbitmq.rabbitmq_streams",
    "BucketAssigner": "connectors.file_system.part_policies",
    "OutputFileConfig": "connectors.file_system.part_policies",
    "RollingPolicy": "connectors.file_system.part_policies",
    "FileEnumeratorProvider": "connectors.file_system.file_listing",
    "FileSplitAssignerProvider": "connectors.file_system.file_listing",
    "FileSink": "connectors.file_system.file_sink",
    "StreamingFileSink": "connectors.file_system.file_sink",
    "FileSource": "connectors.file_system.file_source",
    "FileSourceBuilder": "connectors.file_system.file_source",
    "StreamFormat": "connectors.file_system.file_format",
}
_REFUSED = {
    "PulsarSource": "a source written in Python (millrace.common.source.Source)",
    "PulsarSourceBuilder": "a source written in Python (millrace.common.source.Source)",
    "StartCursor": "a source written in Python (millrace.common.source.Source)",
    "StopCursor": "a source written in Python (millrace.common.source.Source)",
    "FlinkDynamoDBStreamsConsumer": "KinesisStreamsSource on a stream of Kinesis that DynamoDB sends its changes to",
}

__getattr__ = lazy_names(__name__, _HOMES, _REFUSED)
