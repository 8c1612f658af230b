"""Packages that connectors need beside Millrace's own: whether they are here is seen before a job starts."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

__all__ = ["missing_extra"]

_NEEDED = {
    "cassandra": {"cassandra": "cassandra-driver"},
    "clickhouse": {"httpx": "httpx"},
    "hbase": {"happybase": "happybase"},
    "http": {"httpx": "httpx"},
    "influxdb": {"httpx": "httpx"},
    "kafka": {"confluent_kafka": "confluent-kafka"},
    "kinesis": {"boto3": "boto3"},
    "mongodb": {"pymongo": "pymongo"},
    "mqtt": {"paho": "paho-mqtt"},
    "nats": {"nats": "nats-py"},
    "rabbitmq": {"pika": "pika"},
    "redis": {"redis": "redis"},
    "search": {"httpx": "httpx", "msgspec": "msgspec"},
}
"""A connector's folder, which is also the name of the extra -> what it imports, and the package that has it."""
_HERE = __name__.rpartition(".")[0] + "."


def missing_extra(connector: Any) -> str | None:
    """What a source or sink, or one that it wraps, needs and is not installed, and how to install it."""
    for each in (connector, *_inside(connector)):
        module = type(each).__module__
        name = module.removeprefix(_HERE).partition(".")[0] if module.startswith(_HERE) else ""
        for needed, package in _NEEDED.get(name, {}).items():
            if not _is_there(needed):
                return f"needs {package}, which is not installed: pip install 'millrace-streaming[{name}]'"
    return None


def _inside(connector: Any) -> Iterator[Any]:
    yield from getattr(connector, "__dict__", {}).values()


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
