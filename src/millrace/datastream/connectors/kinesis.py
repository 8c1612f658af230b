# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
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
from millrace.util.not_yet import lazy_names

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisShardAssigner",
    "KinesisStreamsSource",
    "WatermarkTracker",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
]

_REFUSED = {
    "FlinkDynamoDBStreamsConsumer": "KinesisStreamsSource on a stream of Kinesis that DynamoDB sends its changes to",
}

__getattr__ = lazy_names(__name__, {}, _REFUSED)
