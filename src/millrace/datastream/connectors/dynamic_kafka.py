# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The dynamic Kafka source under PyFlink's names."""

from __future__ import annotations

from millrace.connectors.kafka.dynamic_kafka_enumerator import (
    ClusterMetadata,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from millrace.connectors.kafka.dynamic_kafka_source import DynamicKafkaSource, DynamicKafkaSourceBuilder
from millrace.connectors.kafka.kafka_records import KafkaRecordDeserializationSchema

__all__ = [
    "ClusterMetadata",
    "KafkaMetadataService",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaRecordDeserializationSchema",
]
