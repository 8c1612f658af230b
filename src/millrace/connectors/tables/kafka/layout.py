"""Which columns of a table lie in the keys of records, which in the values, and which are metadata."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millrace.connectors.tables.kafka.kafka_metadata import READABLE, KafkaMetadata
from millrace.relational.nodes import Schema
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

VALUE_METADATA = "value."


@dataclass(frozen=True)
class Layout:
    """
    :ivar key: positions of the physical columns in the keys; ``value`` those in the values.
    :ivar metadata: of the records, behind the physical columns, each with its place among the metadata columns.
    :ivar of_value: metadata that the format of the values gives, likewise.
    """

    table: TableContext
    key: tuple[int, ...]
    value: tuple[int, ...]
    prefix: str
    metadata: tuple[tuple[int, KafkaMetadata], ...]
    of_value: tuple[tuple[int, str], ...]

    def key_columns(self) -> Schema:
        """As the format of the keys knows them: without the prefix."""
        columns = (self.table.columns[place] for place in self.key)
        return tuple(replace(each, name=each.name.removeprefix(self.prefix)) for each in columns)

    def value_columns(self) -> Schema:
        return tuple(self.table.columns[place] for place in self.value)


def layout_of(table: TableContext, key: tuple[str, ...], prefix: str, include: str) -> Layout:
    """
    :param key: names of the columns in the keys.
    :param include: ALL, or EXCEPT_KEY: values are without the columns of the keys.
    :raises TableException: names that there are not, or a metadata key.
    """
    names = [column.name for column in table.columns]
    for name in key:
        if name not in names:
            raise TableException(
                f"table {table.summary}: 'key.fields' has '{name}', no column{did_you_mean(name, names)}; there are "
                f"{', '.join(names)}"
            )
        if not name.startswith(prefix):
            raise TableException(
                f"table {table.summary}: all of 'key.fields' begin with 'key.fields-prefix' '{prefix}', but '{name}' "
                "does not"
            )
    if prefix and include == "all":
        raise TableException(
            f"table {table.summary}: 'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY': the values would "
            "have the prefixed columns as well"
        )
    keys = tuple(names.index(name) for name in key)
    values = tuple(place for place in range(len(names)) if include == "all" or place not in keys)
    zone = table.configuration.get("table.local-time-zone", "UTC")
    own: list[tuple[int, KafkaMetadata]] = []
    of_value: list[tuple[int, str]] = []
    for place, (name, name_of_key, kind) in enumerate(table.metadata):
        if name_of_key.startswith(VALUE_METADATA):
            of_value.append((place, name_of_key.removeprefix(VALUE_METADATA)))
            continue
        if name_of_key not in READABLE:
            known = [*READABLE, f"{VALUE_METADATA}..."]
            raise TableException(
                f"table {table.summary}, column '{name}': records of Kafka have no metadata '{name_of_key}'"
                f"{did_you_mean(name_of_key, known)}; there are {', '.join(known)}"
            )
        column = KafkaMetadata(name_of_key, kind, "UTC" if zone == "default" else zone)
        problem = column.problem()
        if problem is not None:
            raise TableException(f"table {table.summary}, column '{name}': {problem}")
        own.append((place, column))
    return Layout(table, keys, values, prefix, tuple(own), tuple(of_value))
