"""Connectors under PyFlink's names. The old names of this package itself (``connectors.FileSink``) work too."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millrace.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from millrace.datastream.not_yet import module_getattr

__all__ = ["Sink", "Source", "DeliveryGuarantee"]

# Looked up on first use: importing a connector must not import all of them.
_ELSEWHERE = {
    "NumberSequenceSource": "number_seq",
    "DataGeneratorSource": "datagen",
    "BucketAssigner": "file_system",
    "FileEnumeratorProvider": "file_system",
    "FileSink": "file_system",
    "FileSplitAssignerProvider": "file_system",
    "FileSource": "file_system",
    "FileSourceBuilder": "file_system",
    "OutputFileConfig": "file_system",
    "RollingPolicy": "file_system",
    "StreamFormat": "file_system",
    "StreamingFileSink": "file_system",
    "DynamicKafkaSource": "dynamic_kafka",
    "DynamicKafkaSourceBuilder": "dynamic_kafka",
    "KafkaMetadataService": "dynamic_kafka",
    "KafkaRecordDeserializationSchema": "dynamic_kafka",
    "KafkaStreamSetSubscriber": "dynamic_kafka",
    "KafkaStreamSubscriber": "dynamic_kafka",
    "StreamPatternSubscriber": "dynamic_kafka",
    "SingleClusterTopicMetadataService": "dynamic_kafka",
    "FlinkKafkaConsumer": "kafka",
    "FlinkKafkaProducer": "kafka",
    "JdbcConnectionOptions": "jdbc",
    "JdbcExecutionOptions": "jdbc",
    "JdbcSink": "jdbc",
    "KafkaSource": "kafka",
    "Semantic": "kafka",
    "RMQConnectionConfig": "rabbitmq",
    "RMQSink": "rabbitmq",
    "RMQSource": "rabbitmq",
}
_not_yet = module_getattr(__name__)


def __getattr__(name: str) -> Any:
    module = _ELSEWHERE.get(name)
    if module is None:
        return _not_yet(name)
    return getattr(import_module(f"{__name__}.{module}"), name)
