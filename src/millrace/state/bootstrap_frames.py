"""Makes keyed state from a Spark DataFrame, on its workers: nothing here imports Spark.

Rows travel to the task that has their range of key groups, many of them packed into one; there the function runs and
the files are written.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.state_file import StateFile
from millrace.checkpoint.state_files import write_states
from millrace.runtime.pickling import dumps
from millrace.runtime.state.info import StateInfo
from millrace.state.inputs import rows_of
from millrace.state.keyed_bootstrap import KeyedChunk, Recipe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["run_on_spark"]

_PACKED = pa.schema([("target", pa.int32()), ("payload", pa.binary())])
_DONE = pa.schema([("payload", pa.binary())])


def run_on_spark(frame: DataFrame, recipe: Recipe, uri: str, prefix: str) -> tuple[list[StateFile], list[StateInfo]]:
    """The files that the tasks have written below ``prefix``, and the states that the function has asked for.

    :raises BootstrapError: the function failed; other errors are Spark's.
    """
    packed = frame.mapInArrow(_Pack(recipe), "target INT, payload BINARY").repartitionById(recipe.parallelism, "target")
    done = packed.mapInArrow(_Fill(recipe, uri, prefix), "payload BINARY").collect()
    files: list[StateFile] = []
    infos: Sequence[StateInfo] = recipe.run(()).described()
    for row in done:
        written, infos = pickle.loads(row.payload)
        files += written
    _delete_others(uri, prefix, {file.path for file in files})
    return files, list(infos)


def _delete_others(uri: str, prefix: str, wanted: set[str]) -> None:
    """Spark may have run a task twice."""
    folder = open_folder(uri)
    for path in folder.files(prefix):
        if path not in wanted:
            folder.delete(path)


class _Pack:
    """The function of ``mapInArrow``: rows in, packed rows of one task out."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for chunk in self._recipe.keyed(map(rows_of, batches)):
            parts = self._recipe.split(chunk)
            packed = [list(parts), list(map(dumps, parts.values()))]
            yield pa.RecordBatch.from_arrays(list(map(pa.array, packed, _PACKED.types)), schema=_PACKED)


class _Fill:
    """The function of ``mapInArrow``: packed rows in, descriptions of the files with their state out."""

    def __init__(self, recipe: Recipe, uri: str, prefix: str) -> None:
        self._recipe, self._uri, self._prefix = recipe, uri, prefix

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        arriving = iter(batches)
        first = next(arriving, None)
        if first is None:
            return
        recipe, subtask = self._recipe, first.column("target")[0].as_py()
        backend = recipe.run(_unpacked(first, arriving), subtask)
        # A folder of its own: another run of this task must not replace files that this one has described.
        prefix = f"{self._prefix}/{uuid.uuid4().hex[:8]}"
        files = write_states(
            open_folder(self._uri), prefix, subtask, recipe.max_parallelism, backend.full_pieces(), None
        )
        payload = pa.array([dumps((files, backend.described()))], pa.binary())
        yield pa.RecordBatch.from_arrays([payload], schema=_DONE)


def _unpacked(first: Any, others: Iterable[Any]) -> Iterator[KeyedChunk]:
    for batch in (first, *others):
        for payload in batch.column("payload"):
            yield pickle.loads(payload.as_py())
