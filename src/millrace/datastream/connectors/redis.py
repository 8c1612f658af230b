# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Redis: streams, channels, and commands with the names of Bahir's connector. Not in PyFlink."""

from __future__ import annotations

from millrace.connectors.redis.redis_sink import (
    FlinkJedisClusterConfig,
    FlinkJedisConfigBase,
    FlinkJedisPoolConfig,
    FlinkJedisSentinelConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisDataType,
    RedisMapper,
    RedisSink,
)
from millrace.connectors.redis.redis_streams import (
    RedisPubSubSink,
    RedisPubSubSource,
    RedisStreamSink,
    RedisStreamSource,
)

__all__ = [
    "FlinkJedisClusterConfig",
    "FlinkJedisConfigBase",
    "FlinkJedisPoolConfig",
    "FlinkJedisSentinelConfig",
    "RedisCommand",
    "RedisCommandDescription",
    "RedisDataType",
    "RedisMapper",
    "RedisSink",
    "RedisPubSubSink",
    "RedisPubSubSource",
    "RedisStreamSink",
    "RedisStreamSource",
]
