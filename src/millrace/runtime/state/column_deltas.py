"""Deltas of tables in columns. A delta names its form, so that code which only passes state on need not know the table.

The entry at ``SINCE`` is (name of the form, constructor arguments of the table, changes as Arrow batches).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from millrace.runtime.state.tables import Table

SINCE = 0
"""The address of a delta in columns; it is no key of a table, since those are tuples."""
_FORMS = {
    "first rows": ("millrace.runtime.tables.ordering.first_rows", "FirstOfKey"),
    "latest rows": ("millrace.runtime.tables.ordering.latest_rows", "RowOfKey"),
    "seen keys": ("millrace.runtime.tables.ordering.key_set", "SeenKeys"),
    "added rows": ("millrace.runtime.tables.indexed_rows", "IndexedRows"),
    "seen values": ("millrace.runtime.tables.aggregates.append_only_distinct", "SeenRows"),
    "groups": ("millrace.runtime.tables.aggregates.group_table", "GroupTable"),
}
_BY_ADDRESS = frozenset({"groups"})
"""forms whose deltas can be converted to entries by key"""

Changes = dict[Any, Any]


def is_told(changes: Changes) -> bool:
    """Whether these changes are a delta in columns."""
    told = changes.get(SINCE)
    return isinstance(told, tuple) and len(told) == 3 and isinstance(told[0], str) and told[0] in _FORMS


def told_bytes(changes: Changes) -> int:
    """The size of a delta in columns, in bytes; 0 for other deltas."""
    return _size(changes[SINCE][2]) if is_told(changes) else 0


def _size(batches: Any) -> int:
    return len(batches) if isinstance(batches, bytes) else sum(map(_size, batches))


def table_of(changes: Changes) -> Table:
    """An empty table that this delta can be applied to."""
    _, made_of, _ = changes[SINCE]
    table: Table = _form(changes).told(*made_of)
    return table


def divided(changes: Changes, places: Callable[[Any], Any]) -> dict[int, Changes]:
    """Divide a delta by key. ``places`` maps an array of key hashes to the array of their target numbers."""
    found: dict[int, Changes] = _form(changes).divided(changes, places)
    return found


def by_address(changes: Changes) -> Changes:
    """A delta in columns, converted for a table with an entry per key.

    :raises ValueError: only a table in columns can apply this delta.
    """
    if changes[SINCE][0] not in _BY_ADDRESS:
        raise ValueError(
            f"a checkpoint has state in columns ({changes[SINCE][0]}), which only a job with its state in memory goes "
            f"on from: take a savepoint instead"
        )
    found: Changes = _form(changes).by_address(changes)
    return found


def _form(changes: Changes) -> Any:
    module, name = _FORMS[changes[SINCE][0]]
    return getattr(import_module(module), name)
