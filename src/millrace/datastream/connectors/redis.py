"""Redis streams and channels. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.redis.pubsub import RedisPubSubSink, RedisPubSubSource
from millrace.connectors.redis.stream_sink import RedisStreamSink
from millrace.connectors.redis.stream_source import RedisStreamSource

__all__ = ["RedisPubSubSink", "RedisPubSubSource", "RedisStreamSink", "RedisStreamSource"]
