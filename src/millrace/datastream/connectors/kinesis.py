"""Kinesis and Firehose under PyFlink's names, and the sources that it lacks."""

from __future__ import annotations

from millrace.connectors.kinesis.kinesis_sink import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)
from millrace.connectors.kinesis.kinesis_source import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisShardAssigner,
    KinesisStreamsSource,
    WatermarkTracker,
)
from millrace.datastream.not_yet import module_getattr

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "KinesisStreamsSource",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]

__getattr__ = module_getattr(__name__)
