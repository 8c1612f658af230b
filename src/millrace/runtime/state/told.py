"""Changes of tables in columns, which say of which table they are: a reader that knows only names can hold them.

Such changes are one entry of a delta: ``{SINCE: (form, what makes the table, the changes)}``. When keys go to tasks of
another parallelism, what an earlier task had is put together in its own form, and divided by keys as a whole.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millrace.runtime.state.tables import Table

SINCE = 0
"""The address: not a key of a table, since these are tuples."""
_FORMS = {
    "first rows": ("millrace.runtime.tables.ordering.first_rows", "FirstOfKey"),
    "latest rows": ("millrace.runtime.tables.ordering.latest_rows", "RowOfKey"),
    "seen keys": ("millrace.runtime.tables.ordering.seen_keys", "SeenKeys"),
    "added rows": ("millrace.runtime.tables.indexed_rows", "IndexedRows"),
    "seen values": ("millrace.runtime.tables.aggregates.seen_values", "SeenRows"),
}


def is_told(changes: dict[Any, Any]) -> bool:
    """Whether these are changes of a table in columns."""
    told = changes.get(SINCE)
    return isinstance(told, tuple) and len(told) == 3 and isinstance(told[0], str) and told[0] in _FORMS


def table_of(changes: dict[Any, Any]) -> Table:
    """An empty table that these changes can be applied to."""
    form, made_of, _ = changes[SINCE]
    module, name = _FORMS[form]
    table: Table = getattr(import_module(module), name).told(*made_of)
    return table
