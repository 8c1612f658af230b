"""Deltas of tables in columns. A delta names its form, so that code which only passes state on need not know the table.

The entry at ``SINCE`` is (name of the form, constructor arguments of the table, changes as Arrow batches).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.runtime.state.tables import Table
from millrace.util import plugins

SINCE = 0
"""The address of a delta in columns; it is no key of a table, since those are tuples."""
FORMS = "millrace.column_tables"
"""entry points: the name of a form -> the class of its table"""
_BY_ADDRESS = frozenset({"groups", "kept rows", "open sessions"})
"""forms whose deltas can be converted to entries by key"""
_ONTO_COLUMNS = frozenset({"window accumulators", "window values"})
"""forms whose deltas say what is to be merged into accumulators that are in columns"""

Changes = dict[Any, Any]
Form = tuple[str, tuple[Any, ...]]
"""(name of a form, the arguments that its table is made from)"""


def is_told(changes: Changes) -> bool:
    """Whether these changes are a delta in columns."""
    told = changes.get(SINCE)
    return isinstance(told, tuple) and len(told) == 3 and isinstance(told[0], str) and plugins.has(FORMS, told[0])


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


def wants_columns(changes: Changes) -> bool:
    """Whether a table with an entry for each address can apply this delta in columns only when it is in columns, too:
    ``in_columns``."""
    return changes[SINCE][0] in _ONTO_COLUMNS


def in_columns(table: Table, changes: Changes) -> Table:
    """The content of a table as one that this delta can be applied to."""
    found = table_of(changes)
    found.apply(table.entries())
    return found


def divided(changes: Changes, places: Callable[[Any], Any]) -> dict[int, Changes]:
    """Divide a delta by key. ``places`` maps an array of key hashes to the array of their target numbers."""
    found: dict[int, Changes] = _form(changes).divided(changes, places)
    return found


def fitting(changes: Changes, table: Any) -> Changes:
    """A delta in columns as this table can apply it.

    :raises ValueError: it is of another table.
    """
    if not table.in_columns:
        return by_address(changes)
    form, own = changes[SINCE][0], table.form()[0]
    if form != own:
        raise ValueError(
            f"a checkpoint has state in columns ({form}), and this query has it in others ({own}): take a savepoint of "
            f"the earlier job instead"
        )
    return changes


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
    return plugins.load(FORMS, changes[SINCE][0])
