"""What the examples give: computed by the functions themselves, on the local engine."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.without_spark import without_spark

from millrace.table import TableEnvironment

from .entries import ENTRIES, aggregates
from .entries.entry import Entry
from .tables import environment, rows_of

_AGGREGATES = {entry.name for entries in aggregates.TOPICS.values() for entry in entries}


def results() -> dict[str, str]:
    """Name of a function -> what its example gives, as ``print()`` shows it."""
    given = {name: entry.varies for name, entry in ENTRIES.items() if entry.varies}
    computed = [entry for name, entry in ENTRIES.items() if name not in given]
    with without_spark():
        t_env = environment()
        for entry in computed:
            if entry.is_query:
                given[entry.name] = _all_rows(t_env, entry)
        scalars = [each for each in computed if not each.is_query and each.name not in _AGGREGATES]
        given.update(_one_row(t_env, scalars, "t WHERE a = 1"))
        given.update(_one_row(t_env, [each for each in computed if each.name in _AGGREGATES], "t"))
    return given


def query_of(entry: Entry) -> str:
    """The example as a query."""
    return entry.sql if entry.is_query else f"SELECT {entry.sql} FROM t"


def _one_row(t_env: TableEnvironment, entries: Sequence[Entry], relation: str) -> dict[str, str]:
    """All of them in one query: a job for each would take minutes."""
    (row,) = rows_of(t_env.sql_query(f"SELECT {', '.join(entry.sql for entry in entries)} FROM {relation}"))
    return {entry.name: text for entry, text in zip(entries, row)}


def _all_rows(t_env: TableEnvironment, entry: Entry) -> str:
    return "; ".join(", ".join(row) for row in rows_of(t_env.sql_query(entry.sql)))
