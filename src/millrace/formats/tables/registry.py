"""Formats by name: those of Millrace, and those of installed packages (entry points ``millrace.formats``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from millrace.relational.formats import FormatFactory
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

ENTRY_POINTS = "millrace.formats"
_BUILT_IN = {
    "avro": "millrace.formats.tables.avro:AvroFormatFactory",
    "avro-confluent": "millrace.formats.tables.confluent.format:AvroConfluentFormatFactory",
    "canal-json": "millrace.formats.tables.changes.canal:CanalJsonFormatFactory",
    "canal-protobuf": "millrace.formats.tables.changes.canal_protobuf:CanalProtobufFormatFactory",
    "changelog-json": "millrace.formats.tables.changes.changelog:ChangelogJsonFormatFactory",
    "csv": "millrace.formats.tables.csv.format:CsvFormatFactory",
    "debezium-avro-confluent": "millrace.formats.tables.confluent.debezium:DebeziumAvroFormatFactory",
    "debezium-json": "millrace.formats.tables.changes.debezium:DebeziumJsonFormatFactory",
    "json": "millrace.formats.tables.json.format:JsonFormatFactory",
    "json-confluent": "millrace.formats.tables.confluent.json_format:JsonConfluentFormatFactory",
    "maxwell-json": "millrace.formats.tables.changes.maxwell:MaxwellJsonFormatFactory",
    "ogg-json": "millrace.formats.tables.changes.ogg:OggJsonFormatFactory",
    "protobuf": "millrace.formats.tables.protobuf.format:ProtobufFormatFactory",
    "raw": "millrace.formats.tables.raw:RawFormatFactory",
}


@cache
def _installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def format_names() -> list[str]:
    return sorted({*_BUILT_IN, *_installed()})


def format_factory(identifier: str, table: str) -> FormatFactory:
    """The factory of a format.

    :param table: its name, for errors.
    :raises TableException: there is no format of this name.
    """
    place = _BUILT_IN.get(identifier) or _installed().get(identifier)
    if place is None:
        known = format_names()
        raise TableException(
            f"table {table}: there is no format '{identifier}'{did_you_mean(identifier, known)}; there are "
            f"{', '.join(known)}"
        )
    module, _, attribute = place.partition(":")
    made = getattr(import_module(module), attribute)()
    assert isinstance(made, FormatFactory)
    return made


def format_options(
    factory: FormatFactory, identifier: str, table_options: Mapping[str, str], table: str = ""
) -> dict[str, str]:
    """The options of a format among those of a table, without their prefix, checked by name.

    :param identifier: what stands before the dot: ``'json'``, or ``'value.json'`` where a connector has two formats.
    :param table: its name, for errors.
    :raises TableException: an option that the format does not have, or that it needs and that is missing.
    """
    prefix = f"{identifier}."
    found = {name[len(prefix) :]: value for name, value in table_options.items() if name.startswith(prefix)}
    where = f"table {table}: " if table else ""
    missing = [prefix + name for name in factory.required if name not in found]
    if missing:
        raise TableException(f"{where}format '{factory.identifier}' needs {', '.join(missing)}")
    check_names(found, sorted((*factory.required, *factory.optional)), f"{where}format '{factory.identifier}'", prefix)
    return found


def check_names(given: Iterable[str], known: Sequence[str], whose: str, prefix: str) -> None:
    """Refuse options that a format does not have.

    :param known: without prefix; one that ends with a dot stands for all that begin with it.
    :raises TableException: says which options there are.
    """
    for name in given:
        if name not in known and not any(each.endswith(".") and name.startswith(each) for each in known):
            shown = ", ".join(prefix + each for each in known) or "none"
            meant = did_you_mean(prefix + name, [prefix + each for each in known])
            raise TableException(f"{whose} has no option '{prefix}{name}'{meant}; it has {shown}")
