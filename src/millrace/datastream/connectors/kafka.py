"""Kafka under PyFlink's names; the code is in ``millrace.connectors.kafka``."""

from __future__ import annotations

from millrace.connectors.base import DeliveryGuarantee as DeliveryGuarantee  # programs import it from here, too
from millrace.connectors.kafka.builders import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSinkBuilder,
    KafkaSourceBuilder,
)
from millrace.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from millrace.connectors.kafka.old_names import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from millrace.connectors.kafka.record import ConsumerRecord, KafkaRecordDeserializationSchema, ProducerRecord
from millrace.connectors.kafka.serializing import (
    FlinkFixedPartitioner,
    KafkaPartitioner,
    KafkaTopicSelector,
    RecordSerializer,
    RoundRobinPartitioner,
)
from millrace.connectors.kafka.sink import KafkaSink
from millrace.connectors.kafka.source import KafkaSource

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "Semantic",
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
