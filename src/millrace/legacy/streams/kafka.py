"""Kafka's consumers and producers with a version in their name: the client speaks to brokers of every version."""

from __future__ import annotations

from typing import Any

from millrace.connectors.kafka.old_names import FlinkKafkaConsumer, FlinkKafkaProducer
from millrace.legacy.telling import tell

__all__ = [
    "FlinkKafkaConsumer08",
    "FlinkKafkaConsumer09",
    "FlinkKafkaConsumer010",
    "FlinkKafkaConsumer011",
    "FlinkKafkaProducer08",
    "FlinkKafkaProducer09",
    "FlinkKafkaProducer010",
    "FlinkKafkaProducer011",
]


class _Consumer(FlinkKafkaConsumer):
    """``KafkaSource`` is its name today."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        tell(type(self).__name__, "KafkaSource")
        super().__init__(*args, **keywords)


class _Producer(FlinkKafkaProducer):
    """``KafkaSink`` is its name today."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        tell(type(self).__name__, "KafkaSink")
        super().__init__(*args, **keywords)


class FlinkKafkaConsumer08(_Consumer): ...


class FlinkKafkaConsumer09(_Consumer): ...


class FlinkKafkaConsumer010(_Consumer): ...


class FlinkKafkaConsumer011(_Consumer): ...


class FlinkKafkaProducer08(_Producer): ...


class FlinkKafkaProducer09(_Producer): ...


class FlinkKafkaProducer010(_Producer): ...


class FlinkKafkaProducer011(_Producer): ...
