# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Kafka under PyFlink's names; the code is in ``millrace.connectors.kafka``."""

from __future__ import annotations

from millrace.connectors.kafka.kafka_legacy import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from millrace.connectors.kafka.kafka_offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from millrace.connectors.kafka.kafka_records import (
    ConsumerRecord,
    FlinkFixedPartitioner,
    KafkaPartitioner,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
    ProducerRecord,
    RecordSerializer,
    RoundRobinPartitioner,
)
from millrace.connectors.kafka.kafka_sink import KafkaSink, KafkaSinkBuilder
from millrace.connectors.kafka.kafka_source import KafkaSource, KafkaSourceBuilder
from millrace.connectors.sink_base import DeliveryGuarantee as DeliveryGuarantee

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "Semantic",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicPartition",
    "KafkaOffsetsInitializer",
    "KafkaOffsetResetStrategy",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
    "ConsumerRecord",
    "FlinkFixedPartitioner",
    "KafkaPartitioner",
    "KafkaRecordDeserializationSchema",
    "ProducerRecord",
    "RecordSerializer",
    "RoundRobinPartitioner",
]
