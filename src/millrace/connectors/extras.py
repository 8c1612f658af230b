"""Packages that connectors need beside Millrace's own: whether they are here is seen before a job starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

__all__ = ["missing_driver", "missing_extra", "missing_extra_of_table"]

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
_BY_NAME = {
    "mysql-cdc": {"pymysql": "PyMySQL"},
    "postgres-cdc": {"psycopg": "psycopg"},
}
"""A table's connector, which is also the name of the extra -> as above"""
_DRIVERS = {
    "postgresql": ("postgres", {"psycopg": "psycopg", "adbc_driver_postgresql": "adbc-driver-postgresql"}),
    "mysql": ("mysql", {"pymysql": "PyMySQL"}),
    "mariadb": ("mysql", {"pymysql": "PyMySQL"}),
    "duckdb": ("duckdb", {"duckdb": "duckdb"}),
}
"""A kind of ``jdbc:`` URL -> the extra, what is imported, and the package that has it."""
_MODULES = {
    "cdc.mysql": ("mysql-cdc", _BY_NAME["mysql-cdc"]),
    "cdc.postgres": ("postgres-cdc", _BY_NAME["postgres-cdc"]),
    "jdbc.postgresql": _DRIVERS["postgresql"],
    "jdbc.mysql": _DRIVERS["mysql"],
    "jdbc.duckdb": _DRIVERS["duckdb"],
}
_DEEPEST = 3
"""a connector, what it wraps, and what that holds"""
_HERE = __name__.rpartition(".")[0] + "."


def missing_extra(connector: Any) -> str | None:
    """What a source or sink, or one that it wraps, needs and is not installed, and how to install it."""
    for each in _with_inside(connector, _DEEPEST):
        module = type(each).__module__
        if module.startswith(_HERE) and (missing := _missing(*_needs(module.removeprefix(_HERE)))) is not None:
            return missing
    return None


def _needs(module: str) -> tuple[str, Mapping[str, str]]:
    """The extra of a module of this package, and what it imports."""
    for beginning, needs in _MODULES.items():
        if module == beginning or module.startswith(f"{beginning}."):
            return needs
    name = module.partition(".")[0]
    return name, _NEEDED.get(name, {})


def missing_extra_of_table(extra: str, options: Mapping[str, str]) -> str | None:
    """What a table's connector needs and is not installed, and how to install it.

    :param extra: as its factory names it; ``jdbc``: the URL says which.
    """
    if extra == "jdbc":
        return missing_driver(options.get("url", ""))
    return _missing(extra, _BY_NAME.get(extra) or _NEEDED[extra])


def missing_driver(url: str) -> str | None:
    """What a database of a ``jdbc:`` URL needs and is not installed, and how to install it."""
    kind = re.match(r"jdbc:([a-z0-9]+):", url, re.IGNORECASE)
    extra, needed = _DRIVERS.get(kind[1].lower() if kind else "", ("", {}))
    return _missing(extra, needed)


def _missing(extra: str, needed: Mapping[str, str]) -> str | None:
    for module, package in needed.items():
        if not _is_there(module):
            return f"needs {package}, which is not installed: pip install 'millrace-streaming[{extra}]'"
    return None


def _with_inside(connector: Any, depth: int) -> Iterator[Any]:
    yield connector
    if depth and type(connector).__module__ != "builtins":
        for each in getattr(connector, "__dict__", {}).values():
            yield from _with_inside(each, depth - 1)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
