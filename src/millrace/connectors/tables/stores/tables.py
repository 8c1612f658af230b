"""What tables of all stores have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.connectors.lookup.full import FullLookup
from millrace.connectors.lookup.reload import Reload
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory
from millrace.util.exceptions import TableException


def no_metadata(table: TableContext) -> None:
    """:raises TableException: the table has metadata columns, which these connectors don't have."""
    if table.metadata:
        connector, key = table.options.get("connector"), table.metadata[0][1]
        raise TableException(f"table {table.summary}: connector '{connector}' has no metadata '{key}'")


def looked_up(
    factory: TableFactory, table: TableContext, key: Sequence[int], ask: Callable[[], LookupTableSource]
) -> LookupTableSource:
    """A look-up: in all of the table, if its cache is FULL, else by asking for keys.

    :param ask: makes the latter.
    """
    if table.options.get("lookup.cache", "").upper() == "FULL":
        return FullLookup(factory.source(table), table, key, Reload.of(TableOptions(table)))
    return ask()
