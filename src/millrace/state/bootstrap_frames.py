"""Makes keyed state from a Spark DataFrame, on its workers: nothing here imports Spark.

Rows travel to the task that has their range of key groups, many of them packed into one; there the function runs and
the files are written.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.checkpoint.files.folder import open_folder
from millrace.checkpoint.savepoints.state_file import StateFile
from millrace.checkpoint.savepoints.state_files import write_states
from millrace.common.files.stores import settings
from millrace.runtime.pickling import dumps
from millrace.runtime.state.info import StateInfo
from millrace.state.inputs import rows_of
from millrace.state.keyed_bootstrap import BootstrapError, KeyedChunk, Recipe

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
    infos: Sequence[StateInfo] | None = None
    for row in done:
        answer = pickle.loads(row.payload)
        if isinstance(answer, BootstrapError):
            raise answer
        written, infos = answer
        files += written
    _delete_others(uri, prefix, {file.path for file in files})
    return files, list(recipe.run(()).described() if infos is None else infos)


def _delete_others(uri: str, prefix: str, wanted: set[str]) -> None:
    """Spark may have run a task twice."""
    folder = open_folder(uri)
    for path in folder.files(prefix):
        if path not in wanted:
            folder.delete(path)


class _Pack:
    """The function of ``mapInArrow``: rows in, packed rows for other tasks out; a failure is a row, too."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        try:
            for chunk in self._recipe.keyed(map(rows_of, batches)):
                yield _packed(self._recipe.split(chunk))
        except BootstrapError as error:
            yield _packed({0: error})


def _packed(parts: dict[int, Any]) -> Any:
    columns = [list(parts), list(map(dumps, parts.values()))]
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns, _PACKED.types)), schema=_PACKED)


class _Fill:
    """The function of ``mapInArrow``: packed rows in, a description of the files with their state out."""

    def __init__(self, recipe: Recipe, uri: str, prefix: str) -> None:
        self._recipe, self._uri, self._prefix = recipe, uri, prefix
        self._stores = settings.shipped()

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        arriving = iter(batches)
        first = next(arriving, None)
        if first is None:
            return
        answer: Any
        try:
            answer = self._run(first.column("target")[0].as_py(), chain([first], arriving))
        except BootstrapError as error:
            answer = error
        yield pa.RecordBatch.from_arrays([pa.array([dumps(answer)], pa.binary())], schema=_DONE)

    def _run(self, subtask: int, batches: Iterable[Any]) -> tuple[list[StateFile], list[StateInfo]]:
        settings.take(self._stores)
        recipe = self._recipe
        payloads = (payload for batch in batches for payload in batch.column("payload"))
        backend = recipe.run(map(_unpacked, payloads), subtask)
        run = int.from_bytes(os.urandom(4), "big")
        files = write_states(
            open_folder(self._uri), self._prefix, subtask, recipe.max_parallelism, backend.full_pieces(), None, run
        )
        return files, backend.described()


def _unpacked(payload: Any) -> KeyedChunk:
    chunk: KeyedChunk | BootstrapError = pickle.loads(payload.as_py())
    if isinstance(chunk, BootstrapError):
        raise chunk
    return chunk
