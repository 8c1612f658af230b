"""Stored values become what the program declares now: rows get their new fields, whole numbers become floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.runtime.state.tables import ListTable, MapTable, ValueTable
from millrace.runtime.state.ttl_tables import TtlListTable, TtlMapTable, TtlValueTable

Convert = Callable[[Any], Any]
"""value of the old type -> value of the new one: of a list state the whole list, of a map state the whole map"""


def adapt(kind: str, entries: dict[Any, Any], convert: Convert) -> dict[Any, Any]:
    """The entries of a table in full form, with every value converted; other tables than those of states stay."""
    of_kind = _ENTRIES.get(kind)
    return entries if of_kind is None else {at: of_kind(entry, convert) for at, entry in entries.items()}


def _stamped_list(stamped: list[Any], convert: Convert) -> list[Any]:
    return [(stamp, value) for (stamp, _), value in zip(stamped, convert([value for _, value in stamped]))]


def _stamped_map(stamped: dict[Any, Any], convert: Convert) -> dict[Any, Any]:
    values = convert({key: value for key, (_, value) in stamped.items()})
    return {key: (stamp, value) for (stamp, _), (key, value) in zip(stamped.values(), values.items())}


_ENTRIES: dict[str, Callable[[Any, Convert], Any]] = {
    ValueTable.kind: lambda entry, convert: convert(entry),
    ListTable.kind: lambda entry, convert: (entry[0], convert(entry[1])),
    MapTable.kind: lambda entry, convert: (entry[0], convert(entry[1]), entry[2]),
    TtlValueTable.kind: lambda entry, convert: (entry[0], convert(entry[1])),
    TtlListTable.kind: lambda entry, convert: (entry[0], _stamped_list(entry[1], convert)),
    TtlMapTable.kind: lambda entry, convert: (entry[0], _stamped_map(entry[1], convert), entry[2]),
}
