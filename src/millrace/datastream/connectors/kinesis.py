"""Kinesis and Firehose under PyFlink's names, and the sources that it lacks."""

from __future__ import annotations

from millrace.connectors.kinesis.old_names import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisShardAssigner,
    WatermarkTracker,
)
from millrace.connectors.kinesis.sink import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)
from millrace.connectors.kinesis.source import KinesisStreamsSource
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
