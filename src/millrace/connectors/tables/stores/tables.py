"""What tables of all stores have in common."""

from __future__ import annotations

from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException


def no_metadata(table: TableContext) -> None:
    """:raises TableException: the table has metadata columns, which these connectors don't have."""
    if table.metadata:
        connector, key = table.options.get("connector"), table.metadata[0][1]
        raise TableException(f"table {table.summary}: connector '{connector}' has no metadata '{key}'")
