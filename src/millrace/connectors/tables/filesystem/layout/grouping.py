"""Batches of rows taken apart by partition, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.connectors.tables.filesystem.layout.columns import Layout
from millrace.connectors.tables.filesystem.layout.partitions import folder_of, text_of
from millrace.relational.rows import Rows
from millrace.relational.values import to_python


class InPartition(NamedTuple):
    """Rows of one partition, with the columns of files: the element of a writer."""

    folder: str
    """below the table's path; "" without partitions"""
    rows: Rows


class Partitioner:
    """Takes batches apart. Rows of a partition stay in their order."""

    def __init__(self, layout: Layout, default_name: str) -> None:
        self._keys = layout.partition_keys
        self._types = [column.type for column in layout.partition_columns]
        self._places = layout.partition_places()
        self._rest = layout.file_places()
        self._width = len(layout.columns)
        self._default_name = default_name
        self._folders: dict[tuple[Any, ...], str] = {}

    def split(self, rows: Rows) -> Iterator[InPartition]:
        """The rows by partition, without the columns that are in its name."""
        columns = rows.columns
        if len(columns) != self._width:
            raise ValueError("what file systems know of files cannot be written: declare such METADATA as VIRTUAL")
        kept = rows.with_columns([columns[place] for place in self._rest])
        if not self._keys:
            yield InPartition("", kept)
            return
        ids, first = _groups([columns[place] for place in self._places])
        folders = self._names([columns[place].take(pa.array(first)) for place in self._places])
        if len(first) == 1:
            yield InPartition(folders[0], kept)
            return
        order = np.argsort(ids, kind="stable")
        ordered = kept.take(order)
        start = 0
        for folder, count in zip(folders, np.bincount(ids, minlength=len(first)).tolist()):
            kinds = None if ordered.kinds is None else ordered.kinds[start : start + count]
            yield InPartition(folder, Rows(ordered.batch.slice(start, count), kinds))
            start += count

    def _names(self, columns: list[pa.Array]) -> list[str]:
        values = zip(*(to_python(column, kind) for column, kind in zip(columns, self._types)))
        return [self._name(each) for each in values]

    def _name(self, values: tuple[Any, ...]) -> str:
        # True and 1 are equal, but not the same text.
        key = (*values, *map(type, values))
        found = self._folders.get(key)
        if found is None:
            texts = [text_of(value, kind, self._default_name) for value, kind in zip(values, self._types)]
            found = folder_of(self._keys, texts)
            self._folders[key] = found
        return found


def _groups(columns: list[pa.Array]) -> tuple[Any, Any]:
    """(number of the group of each row, a row of each group)."""
    ids = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        ids = ids * (int(codes.max(initial=0)) + 1) + codes
        ids = np.unique(ids, return_inverse=True)[1]  # small numbers again
    _, first, ids = np.unique(ids, return_index=True, return_inverse=True)
    return ids, first
