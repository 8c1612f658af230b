"""``FileCatalog``: a catalog in a directory, one JSON file an object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from millrace.table.catalogs import catalog
from millrace.table.catalogs.catalog import DEFAULT_DATABASE, Catalog, CatalogStore, CatalogType, StoredCatalog, needed
from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogTableStatistics,
    Declared,
    DeclaredDistribution,
    DeclaredKey,
    DeclaredWatermark,
    Schema,
)
from millrace.table.expression_methods.expression import Expression
from millrace.table.sql import nodes
from millrace.table.values.data_types import data_type_of
from millrace.util.exceptions import CatalogException
from millrace.util.secrets import holds_secret

# Objects as JSON


def to_json(value: Any) -> dict[str, Any]:
    """:raises CatalogException: it exists in this session only (a view of a ``Table``, a function made in Python)."""
    if isinstance(value, CatalogBaseTable):
        return _table(value)
    if isinstance(value, CatalogFunction):
        if value.function is not None:
            raise CatalogException(
                f"{value.get_class_name()} was made in this session: CREATE FUNCTION ... LANGUAGE PYTHON keeps "
                "the name of one in a module"
            )
        return {"class": value.get_class_name(), "language": value.get_function_language(), **_comment(value)}
    if isinstance(value, (CatalogDatabase, CatalogPartition)):
        return {"properties": value.get_properties(), **_comment(value)}
    if isinstance(value, CatalogModel):
        schemas = (value.get_input_schema(), value.get_output_schema())
        kept = [None if schema is None else _schema(schema) for schema in schemas]
        return {"input": kept[0], "output": kept[1], "options": value.get_options(), **_comment(value)}
    assert isinstance(value, (CatalogTableStatistics, CatalogColumnStatistics))
    return {name.lstrip("_"): part for name, part in value.__dict__.items()}


def from_json(kind: str, data: dict[str, Any]) -> Any:
    comment = data.get("comment")
    if kind == catalog.DATABASE:
        return CatalogDatabase(data["properties"], comment)
    if kind == catalog.PARTITION:
        return CatalogPartition(data["properties"], comment)
    if kind == catalog.FUNCTION:
        return CatalogFunction(data["class"], data["language"], comment)
    if kind == catalog.TABLE_STATISTICS:
        return CatalogTableStatistics(**data)
    if kind == catalog.COLUMN_STATISTICS:
        return CatalogColumnStatistics(data["data"], data["properties"])
    if kind == catalog.MODEL:
        schemas = [None if data[key] is None else _schema_of(data[key]) for key in ("input", "output")]
        return CatalogModel(schemas[0], schemas[1], data["options"], comment)
    schema = _schema_of(data["schema"])
    keys, queries = tuple(data["partition_keys"]), (data.get("original_query"), data.get("expanded_query"))
    distribution = None
    if "distribution" in data:
        columns, distributed, buckets = data["distribution"]
        distribution = DeclaredDistribution(tuple(columns), distributed, buckets)
    return CatalogBaseTable(schema, data["options"], keys, comment, *queries, distribution)


def _comment(value: Any) -> dict[str, Any]:
    return {} if value.get_description() is None else {"comment": value.get_description()}


def _table(table: CatalogBaseTable) -> dict[str, Any]:
    if table.plan is not None:
        raise CatalogException("a view of a Table exists in this session only: create the view with SQL, CREATE VIEW")
    queries = {}
    if table.is_view:
        queries = {"original_query": table.original_query, "expanded_query": table.expanded_query}
    return {
        "schema": _schema(table.get_unresolved_schema()),
        "options": table.get_options(),
        "partition_keys": list(table.partition_keys),
        **queries,
        **_distribution(table),
        **_comment(table),
    }


def _distribution(table: CatalogBaseTable) -> dict[str, Any]:
    found = table.distribution
    return {} if found is None else {"distribution": [list(found.columns), found.kind, found.buckets]}


def _schema(schema: Schema) -> dict[str, Any]:
    watermark, key = schema.watermark, schema.primary_key
    return {
        "columns": [_column(column) for column in schema.columns],
        "watermark": None if watermark is None else [watermark.column, _sql(watermark.expression)],
        "primary_key": None if key is None else [key.name, list(key.columns)],
    }


def _column(column: Declared) -> dict[str, Any]:
    found: dict[str, Any] = {"name": column.name}
    if column.type is not None:
        found["type"] = str(column.type)
    if column.expression is not None:
        found["expression"] = _sql(column.expression)
    if column.metadata:
        found |= {"metadata_key": column.metadata_key, "virtual": column.virtual}
    if column.comment is not None:
        found["comment"] = column.comment
    return found


def _sql(expression: Expression[Any] | str) -> str:
    if isinstance(expression, str):
        return expression
    if isinstance(expression._node, nodes.SqlText):
        return expression._node.text
    raise CatalogException(f"{expression} was made in Python: what a catalog keeps is written in SQL")


def _schema_of(data: dict[str, Any]) -> Schema:
    watermark = None if data["watermark"] is None else DeclaredWatermark(*data["watermark"])
    key = None if data["primary_key"] is None else DeclaredKey(data["primary_key"][0], tuple(data["primary_key"][1]))
    return Schema([_column_of(column) for column in data["columns"]], watermark, key)


def _column_of(data: dict[str, Any]) -> Declared:
    data_type = data_type_of(data["type"]) if "type" in data else None
    metadata = "virtual" in data
    return Declared(
        data["name"],
        data_type,
        data.get("expression"),
        metadata,
        data.get("metadata_key"),
        data.get("virtual", False),
        data.get("comment"),
    )


# The catalog


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _holds_secret(written: Any) -> bool:
    """Whether an object has an option, on any level, that others may not read."""
    if isinstance(written, dict):
        return any(
            holds_secret(name, part) if isinstance(part, str) else _holds_secret(part) for name, part in written.items()
        )
    return isinstance(written, list) and any(map(_holds_secret, written))


class FileStore(CatalogStore):
    """Objects as files: ``<root>/<database>/<kind>/<name>.json``. Several processes may use one directory: every file
    is written whole under another name and then moved, and everything is read when it is asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)

    def _folder(self, kind: str, database: str) -> Path:
        if kind == catalog.DATABASE:
            return self._root / "databases"
        return self._root / "objects" / quote(database, safe="") / kind

    def _file(self, kind: str, database: str, name: str) -> Path:
        return self._folder(kind, database) / f"{quote(name, safe='')}.json"

    def names(self, kind: str, database: str) -> list[str]:
        folder = self._folder(kind, database)
        if not folder.is_dir():
            return []
        return sorted(unquote(file.stem) for file in folder.iterdir() if file.suffix == ".json")

    def get(self, kind: str, database: str, name: str) -> Any | None:
        try:
            text = self._file(kind, database, name).read_text("utf-8")
        except FileNotFoundError:
            return None
        return from_json(kind, json.loads(text))

    def put(self, kind: str, database: str, name: str, value: Any) -> None:
        file = self._file(kind, database, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}.draft")
        written = to_json(value)
        with open(draft, "w", encoding="utf-8", opener=_private if _holds_secret(written) else None) as stream:
            stream.write(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
        draft.replace(file)

    def remove(self, kind: str, database: str, name: str) -> None:
        self._file(kind, database, name).unlink()


class FileCatalog(StoredCatalog):
    """A catalog that stays: ``CREATE CATALOG c WITH ('type' = 'file', 'path' = '/some/directory')``.

    >>> catalog = FileCatalog("kept", "folder")
    >>> t_env.register_catalog("kept", catalog)
    >>> t_env.list_catalogs()
    ['default_catalog', 'kept']
    """

    def __init__(self, name: str, path: str | Path, default_database: str = "default") -> None:
        super().__init__(name, default_database, FileStore(Path(path)))


def _file(name: str, options: Mapping[str, str]) -> Catalog:
    path = needed(name, "file", options, "path", ", a directory")
    return FileCatalog(name, path, options.get(DEFAULT_DATABASE, "default"))


FILE = CatalogType("file", ("path", DEFAULT_DATABASE), _file)
