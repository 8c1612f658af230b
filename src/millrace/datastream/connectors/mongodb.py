# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""MongoDB in PyFlink's spelling of Flink's Java classes; the code is in ``millrace.connectors.mongodb``."""

from __future__ import annotations

from millrace.connectors.mongodb.mongodb_streams import (
    MongoDeserializationSchema,
    MongoSerializationSchema,
    MongoSink,
    MongoSinkBuilder,
    MongoSource,
    MongoSourceBuilder,
    PartitionStrategy,
)

__all__ = [
    "MongoDeserializationSchema",
    "MongoSerializationSchema",
    "MongoSink",
    "MongoSinkBuilder",
    "MongoSource",
    "MongoSourceBuilder",
    "PartitionStrategy",
]
