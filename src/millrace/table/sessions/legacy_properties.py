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
_NAMES = {"kafka": _KAFKA, "filesystem": {"connector.path": "path"}}
_VERSIONS = ("universal", "0.10", "0.11")
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
    for name, value in options.items():
        part = _INDEXED.fullmatch(name)
        if name in (_TYPE, "format.type") or name in _COMMON:
            continue
        if part is not None:
            indexed.setdefault((part[1], part[2]), {})[part[3]] = value
        elif name in names:
            if value != "custom":  # the class says it
                found[names[name]] = value
        elif name.startswith(_PROPERTIES):
            found[f"properties.{name.removeprefix(_PROPERTIES)}"] = value
        elif name == "connector.version":
            _one_of(table, name, value, _VERSIONS)
        elif name == "format.line-delimiter":
            _one_of(table, name, value, ("\n", "\\n"))
        elif name == "format.fields" or name.startswith("format.fields."):
            continue  # the columns are the schema
        elif name == "update-mode":
            _one_of(table, name, value, ("append",))
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
    return found | _numbered(indexed)


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
