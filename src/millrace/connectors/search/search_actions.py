"""Rows as actions on documents, all of a batch at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.search.search_documents import IndexName, key_texts
from millrace.connectors.search.search_sink import Encoder
from millrace.formats.tables.json_format import JsonTexts
from millrace.formats.text_columns import SQL
from millrace.relational.rows import Rows, concat
from millrace.relational.sources import EncodingFormat
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType, string

_JSON = JsonTexts(SQL)


@dataclass(frozen=True)
class Versions:
    """Where the version of a document comes from: a column, or the start of the program and the epoch.

    Their sum grows with each epoch, and from one start to the next: no program has more epochs than microseconds.

    :ivar started: microseconds since 1970.
    """

    column: int | None = None
    started: int = 0

    def now(self) -> Versions:
        """For a program that starts now."""
        return replace(self, started=time.time_ns() // 1000) if self.column is None else self

    def texts(self, rows: Rows, kind: DataType | None, epoch: int, table: str) -> Any:
        """A number for all rows, as text, or one for each.

        :raises ValueError: a version is NULL.
        """
        if self.column is None:
            return str(self.started + epoch)
        column = rows.columns[self.column]
        if column.null_count:
            raise ValueError(f"table {table}: the column of the version must not be NULL")
        if kind is not None and family_of(kind) is not Family.INTEGER:
            column = pc.divide(column.cast(pa.int64()), 1000)  # ms
        return column.cast(pa.string())


@dataclass(frozen=True)
class RowActions(Encoder[Rows]):
    """
    :ivar keys: the places of the columns of the PRIMARY KEY; none: documents get ids of their own.
    :ivar kinds: the types of the columns.
    :ivar replaces: whether a document is replaced as a whole; else the columns of the table, and others stay.
    """

    table: str
    index: IndexName
    format: EncodingFormat
    kinds: tuple[DataType, ...]
    names: tuple[str, ...]
    keys: tuple[int, ...] = ()
    delimiter: str = "_"
    versions: Versions | None = None
    replaces: bool = False

    def measure(self, element: Rows) -> tuple[int, int]:
        return len(element), int(element.batch.nbytes)

    def encode(self, elements: Sequence[Rows], epoch: int) -> Sequence[pa.Array]:
        """:raises ValueError: a column of the key is NULL."""
        rows = concat(elements)
        if not len(rows):
            return []
        indexes = self.index.fixed or self.index.texts(rows.columns, len(rows))
        if not self.keys:
            return [self._appended(rows, indexes)]
        ids = self._ids(rows)
        last = _last(ids, indexes)
        if len(last) < len(rows):
            rows, ids = rows.take(last), ids.take(last)
            indexes = indexes if isinstance(indexes, str) else indexes.take(last)
        at = self._at(rows, ids, indexes, epoch)
        adds = pa.array(rows.adds())
        if pc.all(adds).as_py():
            return [self._put(rows, at)]
        here, gone = rows.where(adds), at.filter(pc.invert(adds))
        deletions = pc.binary_join_element_wise('{"delete":{', gone, "}}\n", "")
        return [pa.concat_arrays([_binary(deletions), self._put(here, at.filter(adds))])]

    def _appended(self, rows: Rows, indexes: Any) -> pa.Array:
        at = (
            f'{{"create":{{{_in_json("_index", indexes)}}}}}\n'
            if isinstance(indexes, str)
            else (pc.binary_join_element_wise('{"create":{"_index":', _quoted(indexes), "}}\n", ""))
        )
        return _binary(pc.binary_join_element_wise(at, self._documents(rows), "\n", ""))

    def _put(self, rows: Rows, at: pa.Array) -> pa.Array:
        if not len(rows):
            return pa.array([], pa.large_binary())
        documents = self._documents(rows)
        if self.replaces or self.versions is not None:
            return _binary(pc.binary_join_element_wise('{"index":{', at, "}}\n", documents, "\n", ""))
        head = ',"retry_on_conflict":3}}\n{"doc":'
        return _binary(pc.binary_join_element_wise('{"update":{', at, head, documents, ',"doc_as_upsert":true}\n', ""))

    def _documents(self, rows: Rows) -> pa.Array:
        return self.format.encode(rows).cast(pa.string())

    def _at(self, rows: Rows, ids: pa.Array, indexes: Any, epoch: int) -> pa.Array:
        """Which document: its index, its id, its version."""
        first = (
            _in_json("_index", indexes)
            if isinstance(indexes, str)
            else (pc.binary_join_element_wise('"_index":', _quoted(indexes), ""))
        )
        pieces = [first, ',"_id":', _quoted(ids)]
        if self.versions is not None:
            column = self.versions.column
            kind = None if column is None else self.kinds[column]
            versions = self.versions.texts(rows, kind, epoch, self.table)
            pieces += [',"version_type":"external_gte","version":', versions]
        return pc.binary_join_element_wise(*pieces, "")

    def _ids(self, rows: Rows) -> pa.Array:
        for place in self.keys:
            if rows.columns[place].null_count:
                raise ValueError(f"table {self.table}: the key column '{self.names[place]}' must not be NULL")
        texts = [key_texts(rows.columns[place], self.kinds[place]) for place in self.keys]
        return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, self.delimiter)


def _last(ids: pa.Array, indexes: Any) -> pa.Array:
    """The place of the last row of each document, in order."""
    names = ["id"] if isinstance(indexes, str) else ["id", "index"]
    columns = [ids] if isinstance(indexes, str) else [ids, indexes]
    table = pa.table([*columns, pa.array(np.arange(len(ids)))], [*names, "at"])
    found = table.group_by(names, use_threads=False).aggregate([("at", "max")])["at_max"].combine_chunks()
    return found.take(pc.sort_indices(found))


def _quoted(texts: pa.Array) -> pa.Array:
    return _JSON.values(texts, string())


def _in_json(name: str, text: str) -> str:
    return f'"{name}":{_quoted(pa.array([text]))[0].as_py()}'


def _binary(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.binary()).cast(pa.large_binary())
