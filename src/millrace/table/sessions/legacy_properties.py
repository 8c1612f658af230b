"""Options of tables as Flink had them up to 1.10 (``connector.type``, ``format.type``), in today's words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millrace.table.values.problems import problem

_TYPE = "connector.type"
_INDEXED = re.compile(r"connector\.(properties|specific-offsets)\.(\d+)\.(key|value|partition|offset)")
_PROPERTIES = "connector.properties."
_COMMON = {"connector.property-version", "format.property-version", "format.derive-schema"}
"""what says nothing today: columns are the schema"""
_KAFKA = {
    "connector.topic": "topic",
    "connector.startup-mode": "scan.startup.mode",
    "connector.specific-offsets": "scan.startup.specific-offsets",
    "connector.startup-timestamp-millis": "scan.startup.timestamp-millis",
    "connector.sink-partitioner-class": "sink.partitioner",
    "connector.sink-partitioner": "sink.partitioner",
}
_JDBC = {
    "connector.url": "url",
    "connector.table": "table-name",
    "connector.driver": "driver",
    "connector.username": "username",
    "connector.password": "password",
    "connector.read.partition.column": "scan.partition.column",
    "connector.read.partition.num": "scan.partition.num",
    "connector.read.partition.lower-bound": "scan.partition.lower-bound",
    "connector.read.partition.upper-bound": "scan.partition.upper-bound",
    "connector.read.fetch-size": "scan.fetch-size",
    "connector.lookup.cache.max-rows": "lookup.cache.max-rows",
    "connector.lookup.cache.ttl": "lookup.cache.ttl",
    "connector.lookup.max-retries": "lookup.max-retries",
    "connector.write.flush.max-rows": "sink.buffer-flush.max-rows",
    "connector.write.flush.interval": "sink.buffer-flush.interval",
    "connector.write.max-retries": "sink.max-retries",
}
_SEARCH = {
    "connector.hosts": "hosts",
    "connector.index": "index",
    "connector.document-type": "document-type",
    "connector.key-delimiter": "document-id.key-delimiter",
    "connector.failure-handler": "failure-handler",
    "connector.flush-on-checkpoint": "sink.flush-on-checkpoint",
    "connector.bulk-flush.max-actions": "sink.bulk-flush.max-actions",
    "connector.bulk-flush.max-size": "sink.bulk-flush.max-size",
    "connector.bulk-flush.interval": "sink.bulk-flush.interval",
    "connector.bulk-flush.backoff.type": "sink.bulk-flush.backoff.strategy",
    "connector.bulk-flush.backoff.max-retries": "sink.bulk-flush.backoff.max-retries",
    "connector.bulk-flush.backoff.delay": "sink.bulk-flush.backoff.delay",
    "connector.connection-max-retry-timeout": "connection.max-retry-timeout",
    "connector.connection-path-prefix": "connection.path-prefix",
}
_NAMES = {
    "kafka": _KAFKA,
    "filesystem": {"connector.path": "path"},
    "jdbc": _JDBC,
    "elasticsearch": _SEARCH,
}
_VERSIONS = {"kafka": ("universal", "0.10", "0.11"), "elasticsearch": ("6", "7")}
_HOST = re.compile(r"connector\.hosts\.(\d+)\.(hostname|port|protocol)")
_UPDATES = {"jdbc": ("append", "upsert"), "elasticsearch": ("append", "upsert")}
"""ways of writing, where there is more than one: today the key of the table decides"""
_FORMATS = ("json", "csv", "avro")
_SCHEMAS = ("format.schema", "format.json-schema", "format.avro-schema", "format.record-class")


def todays(options: Mapping[str, str], table: str) -> Mapping[str, str]:
    """The same options in today's words; those of today stay as they are.

    :raises TableException: names what has no word today.
    """
    if _TYPE not in options or "connector" in options:
        return options
    kind = options[_TYPE]
    names = _NAMES.get(kind)
    if names is None:
        raise problem(
            f"table {table}: '{_TYPE}' = '{kind}' is of an older Flink; there are {', '.join(_NAMES)}, and today's "
            "'connector' = '...'"
        )
    found = {"connector": kind}
    indexed: dict[tuple[str, str], dict[str, str]] = {}
    hosts: dict[str, dict[str, str]] = {}
    for name, value in options.items():
        part = _INDEXED.fullmatch(name)
        if name in (_TYPE, "format.type") or name in _COMMON:
            continue
        if part is not None:
            indexed.setdefault((part[1], part[2]), {})[part[3]] = value
        elif (host := _HOST.fullmatch(name)) is not None:
            hosts.setdefault(host[1], {})[host[2]] = value
        elif name in names:
            if value != "custom":  # the class says it
                found[names[name]] = value
        elif name.startswith(_PROPERTIES):
            found[f"properties.{name.removeprefix(_PROPERTIES)}"] = value
        elif name == "connector.version":
            _one_of(table, name, value, _VERSIONS.get(kind, (value,)))
        elif name == "format.line-delimiter":
            _one_of(table, name, value, ("\n", "\\n"))
        elif name == "format.fields" or name.startswith("format.fields."):
            continue  # the columns are the schema
        elif name == "update-mode":
            _one_of(table, name, value, _UPDATES.get(kind, ("append",)))
        elif name in _SCHEMAS:
            raise problem(f"table {table}: '{name}' is of an older Flink: leave it out, the columns are the schema")
        elif name.startswith("format."):
            found[f"{options.get('format.type', '')}.{name.removeprefix('format.')}"] = value
        elif name.startswith("connector."):
            raise problem(f"table {table}: '{name}' is of an older Flink and has no word today")
        else:
            found[name] = value
    if "format.type" in options:
        _one_of(table, "format.type", options["format.type"], _FORMATS)
        found["format"] = options["format.type"]
    if kind == "filesystem" and found.get("format") == "csv":
        found["connector"] = "older-filesystem"  # fields too many, empty texts, one file: another CSV than today's
    if kind == "elasticsearch":
        _search(found, options.get("connector.version", "7"), hosts)
    return found | _numbered(indexed)


def _search(found: dict[str, str], version: str, hosts: Mapping[str, Mapping[str, str]]) -> None:
    """The version is part of the connector's name today, and documents have no types since version 7."""
    found["connector"] = f"elasticsearch-{version}"
    if version != "6":
        found.pop("document-type", None)
    if hosts:
        parts = (f"{each['protocol']}://{each['hostname']}:{each['port']}" for _, each in sorted(hosts.items()))
        found["hosts"] = ";".join(parts)


def _numbered(indexed: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, str]:
    """Lists whose entries have numbers: of properties, and of offsets."""
    found = {each["key"]: each["value"] for (kind, _), each in indexed.items() if kind == "properties"}
    offsets = [each for (kind, _), each in sorted(indexed.items()) if kind == "specific-offsets"]
    made = {f"properties.{name}": value for name, value in found.items()}
    if offsets:
        text = ";".join(f"partition:{each['partition']},offset:{each['offset']}" for each in offsets)
        made["scan.startup.specific-offsets"] = text
    return made


def _one_of(table: str, name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise problem(f"table {table}: '{name}' is one of {', '.join(known)}, not '{value}'")
