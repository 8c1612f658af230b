"""The state of an operator's subtasks as Parquet files that describe themselves to any reader of Parquet."""

from __future__ import annotations

import gc
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.checkpoint.classes import (
    Classes,
    EvolutionError,
    MissingClassError,
    Problem,
    find_class,
    is_of_main_module,
)
from millrace.checkpoint.columns import check, check_keys, classes_of
from millrace.checkpoint.folder import CorruptFileError, Folder, MissingFileError
from millrace.checkpoint.metadata import StateFile
from millrace.checkpoint.sections import BY_ADDRESS, CachedBytes
from millrace.checkpoint.state_rows import (
    Table,
    by_key_group,
    explode,
    explode_operator_state,
    groups_of,
    implode,
    implode_operator_state,
    of_key_groups,
)
from millrace.checkpoint.stored_file import Seekable, StoredFile
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.state.operator_state import Distribution, OperatorDelta
from millrace.runtime.state.restoring.redistribute import shares

__all__ = [
    "check_states",
    "iter_states",
    "main_classes",
    "read_content",
    "read_operator_state",
    "read_rows",
    "read_states",
    "write_states",
]


KEYED, OPERATOR = "keyed", "operator"
_END = 8
"""bytes at the end of a Parquet file: the length of the footer (4), and the letters PAR1 (4)"""
ROWS_IN_A_FILE = 250_000
ROWS_TOGETHER = 2_000
"""The least rows in a row group, which begins and ends with a key group."""
GATHERED = 100_000
"""The number of entries of small pieces that are written to one file."""
METADATA = b"millrace"
"""the key of a Parquet file's metadata that describes the file, as JSON"""
_REPETITIVE = ["key_group", "namespace", "window_start", "window_end"]
"""columns with dictionary encoding; in others looking for equal values costs more than it saves"""
_NO_CLASSES: dict[str, type] = {}
_kept = CachedBytes(16 * 1024 * 1024)
"""cache for files of operator state, which several tasks of a process may need"""


# -- writing ----------------------------------------------------------------------------------------------------------


def write_states(
    folder: Folder,
    prefix: str,
    subtask: int,
    max_parallelism: int,
    keyed: Iterable[KeyedDelta],
    operator: OperatorDelta | None,
    run: int | None = None,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> list[StateFile]:
    """Write the whole state of a subtask to files ``<prefix>/<state>-<subtask>-<number>.parquet``.

    :param keyed: the keyed state in pieces, each in full form.
    :param run: part of the file names, if the task may run twice and only one run is acknowledged.
    :param about: further metadata of the files.
    """
    writer = _Writer(folder, prefix, subtask, run, about)
    with _without_collector():
        for name, kind, entries in _gathered(keyed):
            for table in explode(kind, entries, max_parallelism, ROWS_IN_A_FILE):
                if len(table[0]):
                    writer.write(name, KEYED, kind, table)
        for name, (distribution, entry) in (operator or {}).items():
            kind = distribution.value
            writer.write(name, OPERATOR, kind, explode_operator_state(kind, entry))
    return writer.files


def _gathered(pieces: Iterable[KeyedDelta]) -> Iterator[tuple[str, str, dict[Any, Any]]]:
    """(state, kind, entries): neighbouring pieces of a state are merged if they are not too large."""
    name, kind, waiting = "", "", dict[Any, Any]()
    for piece in pieces:
        for state, (other, entries) in piece.items():
            fits = state == name and other in BY_ADDRESS and len(waiting) + len(entries) <= GATHERED
            if waiting and not fits:
                yield name, kind, waiting
                waiting = {}
            name, kind = state, other
            waiting.update(entries)
    if waiting:
        yield name, kind, waiting


class _Writer:
    def __init__(self, folder: Folder, prefix: str, subtask: int, run: int | None, about: Mapping[str, Any]) -> None:
        self._about = about
        self.files: list[StateFile] = []
        self._folder, self._prefix, self._subtask = folder, prefix, subtask
        self._writer = f"{subtask}" if run is None else f"{subtask}-{run}"

    def write(self, state: str, scope: str, kind: str, table: Table) -> None:
        rows, described = table
        # The numbers alone make the name unique, whatever remains of the state's own name.
        path = f"{self._prefix}/{_file_name(state)}-{self._writer}-{len(self.files)}.parquet"
        about = {
            "state": state,
            "scope": scope,
            "kind": kind,
            "subtask": self._subtask,
            "columns": described,
            "savepoint": self._folder.uri.rstrip("/").rpartition("/")[2],
            "file": path,
            **self._about,
        }
        content = _parquet(rows.replace_schema_metadata({METADATA: json.dumps(about)}), scope == KEYED)
        size = self._folder.write(path, [content])
        checksum = zlib.crc32(content)
        groups = groups_of(rows) if scope == KEYED else None
        footer = zlib.crc32(content[-_footer_size(content[-_END:]) :])
        described_so = (len(rows), size, checksum, described, groups, footer)
        self.files.append(StateFile(path, state, scope, kind, self._subtask, *described_so))


def _footer_size(end: Any) -> int:
    """The size of a Parquet file's footer in bytes, given the last bytes of the file."""
    return int.from_bytes(end[:4], "little") + _END


def _file_name(state: str) -> str:
    # Readers such as Spark's skip files whose names begin with a dot or an underscore.
    return re.sub(r"[^A-Za-z0-9.-]+", "_", state).strip("_.-")[:60] or "state"


def _parquet(rows: Any, keyed: bool) -> memoryview:
    """The rows as a Parquet file. Keyed rows are sorted by key group, and large key groups get row groups of their
    own.
    """
    if keyed:
        rows, parts = by_key_group(rows, ROWS_TOGETHER)
    else:
        parts = [slice(0, len(rows))]
    buffer = io.BytesIO()
    with pq.ParquetWriter(
        buffer,
        rows.schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=_REPETITIVE,
        write_page_checksum=True,
    ) as writer:
        for part in parts:
            writer.write_table(rows.slice(part.start, part.stop - part.start))
    return buffer.getbuffer()


# -- reading ----------------------------------------------------------------------------------------------------------


def iter_states(
    folder: Folder, files: Iterable[StateFile], key_groups: range | None, known: Classes = _NO_CLASSES
) -> Iterator[KeyedDelta]:
    """The keyed state, file by file, as changes to be applied to an empty backend one after the other.

    :param key_groups: the key groups to read; None: all.
    :param known: classes of the program's main module, if it can't be imported (``main_classes``).
    :raises MissingFileError, CorruptFileError: a file is missing or damaged; the text names it.
    :raises EvolutionError: the values don't fit the classes of this program.
    """
    for file in files:
        piece: KeyedDelta = {}
        _add_keyed(folder, file, key_groups, known, piece)
        if piece:
            yield piece


def read_states(
    folder: Folder, files: Iterable[StateFile], key_groups: range | None, known: Classes = _NO_CLASSES
) -> tuple[KeyedDelta, OperatorDelta]:
    """The merged content of the files: keyed state for an empty backend, and operator state, where lists of several
    subtasks are concatenated, and of a broadcast state the first copy is taken. See ``iter_states``."""
    chosen = list(files)
    keyed: KeyedDelta = {}
    with _without_collector():
        for file in chosen:
            _add_keyed(folder, file, key_groups, known, keyed)
        return keyed, _operator_state(folder, chosen, known)


def _add_keyed(folder: Folder, file: StateFile, key_groups: range | None, known: Classes, keyed: KeyedDelta) -> None:
    if file.scope != KEYED or not _may_hold(file, key_groups):
        return
    rows = read_rows(folder, file) if key_groups is None else _rows_of(folder, file, key_groups)
    if len(rows):
        entries = keyed.setdefault(file.state, (file.kind, {}))[1]
        with _naming(file), _without_collector():
            implode(file.kind, rows, file.columns, known, entries)


def _may_hold(file: StateFile, key_groups: range | None) -> bool:
    if key_groups is None or file.groups is None:
        return True
    lowest, highest = file.groups
    return lowest < key_groups.stop and highest >= key_groups.start


def read_operator_state(
    folder: Folder,
    files: Iterable[StateFile],
    earlier_parallelism: int,
    parallelism: int,
    subtask: int,
    known: Classes = _NO_CLASSES,
) -> OperatorDelta:
    """The operator state that one of ``parallelism`` subtasks starts from, given the files of all earlier ones: its
    share according to ``redistribute``, read only from the files that contain it."""
    by_state: dict[str, list[StateFile]] = {}
    for file in sorted((file for file in files if file.scope == OPERATOR), key=lambda file: file.subtask):
        by_state.setdefault(file.state, []).append(file)
    states: OperatorDelta = {}
    dealt = 0
    for name, parts in by_state.items():
        distribution = Distribution(parts[0].kind)
        if distribution is Distribution.BROADCAST:
            parts = [file for file in parts if file.subtask == subtask % earlier_parallelism]
        elif distribution is Distribution.SPLIT_DISTRIBUTE and earlier_parallelism == parallelism:
            parts = [file for file in parts if file.subtask == subtask]
        elif distribution is Distribution.SPLIT_DISTRIBUTE:
            items = sum(file.rows for file in parts)
            entry = (0, _items_of(folder, parts, shares(items, parallelism, dealt)[subtask], known))
            dealt += items
            if entry[1]:
                states[name] = (distribution, entry)
            continue
        found = _operator_state(folder, parts, known)
        if name in found and (found[name][1] if distribution is Distribution.BROADCAST else found[name][1][1]):
            states[name] = found[name]
    return states


def _items_of(folder: Folder, files: Iterable[StateFile], share: range, known: Classes) -> list[Any]:
    """A range of the items of a list that is stored in several files."""
    items: list[Any] = []
    start = 0
    for file in files:
        if share.start < start + file.rows and start < share.stop:
            _, found = _operator_entry(folder, file, known)
            items += found[max(share.start - start, 0) : share.stop - start]
        start += file.rows
    return items


def _operator_entry(folder: Folder, file: StateFile, known: Classes) -> Any:
    content = _kept.get(folder.uri, file.path, lambda: read_content(folder, file))
    rows = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    with _naming(file):
        return implode_operator_state(file.kind, rows, file.columns, known)


def _operator_state(folder: Folder, files: Iterable[StateFile], known: Classes) -> OperatorDelta:
    states: OperatorDelta = {}
    for file in files:
        if file.scope != OPERATOR:
            continue
        distribution, entry = Distribution(file.kind), _operator_entry(folder, file, known)
        if file.state not in states:
            states[file.state] = (distribution, entry)
        elif distribution is not Distribution.BROADCAST:
            states[file.state][1][1].extend(entry[1])
    return states


def read_rows(folder: Folder, file: StateFile) -> Any:
    """The rows of a file as an Arrow table. Raises what ``read_content`` raises."""
    content = pa.BufferReader(read_content(folder, file))
    return pq.ParquetFile(content).read(use_threads=False)  # a task has one core


def _rows_of(folder: Folder, file: StateFile, key_groups: range) -> Any:
    """The rows of some key groups. Only the row groups that contain some are read; each page has a checksum of its
    own.
    """
    if file.groups is None or (file.groups[0] in key_groups and file.groups[1] in key_groups):
        return of_key_groups(read_rows(folder, file), key_groups)
    with _opened(folder, file) as stored:
        _check_footer(folder, file, stored)
        source = pa.PythonFile(Seekable(stored), mode="r")
        try:
            parquet = pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=True)
            if parquet.num_row_groups == 1:
                return of_key_groups(read_rows(folder, file), key_groups)
            chosen = _overlapping(parquet.metadata, key_groups)
            return of_key_groups(parquet.read_row_groups(chosen, use_threads=False), key_groups)
        except (OSError, pa.ArrowException) as error:
            raise CorruptFileError(f"{folder.uri}/{file.path}", str(error)) from error


def _overlapping(metadata: Any, key_groups: range) -> list[int]:
    """The row groups that may contain rows of some key groups."""
    column = metadata.schema.names.index("key_group")
    found = []
    for number in range(metadata.num_row_groups):
        extremes = metadata.row_group(number).column(column).statistics
        if extremes is None or (extremes.min < key_groups.stop and extremes.max >= key_groups.start):
            found.append(number)
    return found


def _opened(folder: Folder, file: StateFile) -> StoredFile:
    path = f"{folder.uri}/{file.path}"
    try:
        stored = folder.open(file.path)
    except FileNotFoundError:
        raise MissingFileError(path) from None
    if stored.size != file.size:
        stored.close()
        raise CorruptFileError(path, f"it has {stored.size} bytes, not {file.size}")
    return stored


def _check_footer(folder: Folder, file: StateFile, stored: StoredFile) -> None:
    """Check that a file of which only parts are read is the one that was written."""
    if file.footer is None:
        return
    size = min(_footer_size(stored.read(file.size - _END, _END)), file.size)
    if zlib.crc32(stored.read(file.size - size, size)) != file.footer:
        raise CorruptFileError(f"{folder.uri}/{file.path}", "its footer is not the one that was written")


def read_content(folder: Folder, file: StateFile) -> Any:
    """The bytes of a file, verified. Raises ``MissingFileError``, ``CorruptFileError``."""
    with _opened(folder, file) as stored:
        content = stored.read(0, file.size)
    if zlib.crc32(content) != file.checksum:
        raise CorruptFileError(f"{folder.uri}/{file.path}", "its checksum is wrong")
    return content


# -- what can be told before anything is read -------------------------------------------------------------------------


def check_states(files: Iterable[StateFile], known: Classes = _NO_CLASSES) -> list[Problem]:
    """Why this program can't read the files, found from their descriptions; each problem names the state."""
    found: dict[Problem, None] = {}
    for described in {json.dumps([file.state, file.columns]): file for file in files}.values():
        for name, column in described.columns.items():
            problems = check_keys(column, known) if name == "key" else check(column, known)
            found.update(dict.fromkeys(replace(problem, state=described.state) for problem in problems))
    return list(found)


def main_classes(files: Iterable[StateFile]) -> dict[str, type]:
    """Name -> class, for classes of the program's main module in the files. Only the driver can import them: workers
    need them as ``known``. ``check_states`` reports missing ones."""
    names = {each["name"] for file in files for column in file.columns.values() for each in classes_of(column)}
    found: dict[str, type] = {}
    for name in sorted(filter(is_of_main_module, names)):
        try:
            found[name] = find_class(name)
        except MissingClassError:
            continue
    return found


@contextmanager
def _naming(file: StateFile) -> Iterator[None]:
    """A context in which errors name the state."""
    try:
        yield
    except EvolutionError as error:
        raise EvolutionError(replace(problem, state=file.state) for problem in error.problems) from error.__cause__


@contextmanager
def _without_collector() -> Iterator[None]:
    """A context without garbage collection: millions of objects are made and none becomes garbage, so that searching
    for garbage would double the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
