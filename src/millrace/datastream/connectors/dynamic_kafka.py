"""The dynamic Kafka source under PyFlink's names."""

from __future__ import annotations

from millrace.connectors.kafka.dynamic.metadata import (
    ClusterMetadata,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from millrace.connectors.kafka.dynamic.source import DynamicKafkaSource, DynamicKafkaSourceBuilder
from millrace.connectors.kafka.record import KafkaRecordDeserializationSchema

__all__ = [
    "ClusterMetadata",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]
