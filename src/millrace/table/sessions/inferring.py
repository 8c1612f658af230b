"""Tables that are declared without columns, and files that queries name: their columns are found out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.table.catalogs.objects import CatalogBaseTable
from millrace.table.catalogs.paths import ObjectIdentifier
from millrace.table.descriptions.schema import Declared, Schema
from millrace.table.sessions.legacy_properties import todays
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

READS_FILES = "millrace.sql.read-files"
"""Whether SQL that comes to a gateway may look into files by their path."""
ENDINGS = {
    "csv": ("csv", {}),
    "tsv": ("csv", {"csv.field-delimiter": "\t"}),
    "json": ("json", {}),
    "jsonl": ("json", {}),
    "ndjson": ("json", {}),
    "parquet": ("parquet", {}),
    "orc": ("orc", {}),
    "avro": ("avro", {}),
}
"""ending of a file -> its format, and what else is to be said of it"""
_COMPRESSED = ("gz", "gzip", "bz2", "xz", "zst", "zstd", "lz4", "deflate")


def with_columns(identifier: ObjectIdentifier, table: CatalogBaseTable, session: Session) -> CatalogBaseTable | None:
    """A table with the columns that its data have; None: its connector can't know them.

    :raises TableException: they can't be known, or files must not be looked into here.
    """
    summary = identifier.as_summary_string()
    options = todays(table.get_options(), summary)
    if "connector" not in options:
        return None
    found = session.connectors.factory_of(options, summary).inferred(options, summary)
    if found is None:
        return None
    schema, names = table.get_unresolved_schema(), {column.name for column in found.columns}
    columns = [Declared(column.name, column.type) for column in found.columns]
    columns += [Declared(key, t.string()) for key in table.partition_keys if key not in names]
    return CatalogBaseTable(
        Schema(columns, schema.watermark, schema.primary_key),
        {**table.get_options(), **found.options},
        table.partition_keys,
        table.get_comment(),
    )


def table_of_file(path: str, format: str | None) -> CatalogBaseTable:
    """A table without columns yet for a path in a query.

    :param format: None: by the ending of the path.
    :raises TableException: the ending says nothing.
    """
    more: dict[str, str] = {}
    if format is None:
        parts = path.rpartition("/")[2].lower().split(".")
        ending = parts[-2] if len(parts) > 2 and parts[-1] in _COMPRESSED else parts[-1]
        if ending not in ENDINGS:
            known = ", ".join(f".{each}" for each in ENDINGS)
            from millrace.connectors.tables.filesystem.inference.files import format_at

            reader = f"READ_{(format_at(path) or 'csv').upper()}('{path}')"
            raise problem(f"'{path}' does not say what it is: a path in FROM ends with {known}; or call {reader}")
        format, more = ENDINGS[ending]
    return CatalogBaseTable(Schema(), {"connector": "filesystem", "path": path, "format": format, **more})
