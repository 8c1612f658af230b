"""The metadata file of a checkpoint or savepoint, as JSON that people and tools can read; and deleting a savepoint.

Only the content of the driver's objects (positions of sources, committables) is pickled, as one text inside the JSON.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from millrace.checkpoint.compatibility import describe_type
from millrace.checkpoint.folder import CorruptFileError, Folder, SnapshotError, open_folder
from millrace.checkpoint.moved import loads
from millrace.common.files.file_systems import absolute
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.coordination.snapshot import JobSnapshot, OperatorPlace, TaskFiles
from millrace.runtime.state.info import StateInfo
from millrace.runtime.storage import dumps, version_of
from millrace.runtime.tables.state_table import StateTable


@dataclass(frozen=True)
class StateFile:
    """A Parquet file with (part of) one state of one subtask of one operator."""

    path: str
    """path relative to the folder of the savepoint"""
    state: str
    """name of the state; timers have names that no state can have"""
    scope: str
    """``keyed`` or ``operator``"""
    kind: str
    """kind of the table, or the distribution of an operator state"""
    subtask: int
    rows: int
    size: int
    """size in bytes"""
    checksum: int
    """CRC-32 of the file"""
    columns: dict[str, Any] = field(default_factory=dict)
    """column -> how its values are stored, as plain JSON values"""
    groups: list[int] | None = None
    """lowest and highest key group of its rows; None: state without keys"""
    footer: int | None = None
    """CRC-32 of the Parquet footer, to check files of which only parts are read; None in files of earlier versions"""


A = TypeVar("A")
B = TypeVar("B")

METADATA = "_metadata"
VERSION = 3
"""version of the format; in 3 state files have checksums (the files' own format has not changed)"""
CHECKSUM = b',"checksum":'
"""The last key of the file: the CRC-32 of all bytes before it (and the closing brace)."""
CHECKPOINT, SAVEPOINT = "checkpoint", "savepoint"


@dataclass(frozen=True)
class StateDescription:
    """A state as its function described it."""

    name: str
    kind: str
    scope: str
    type: Any
    """the type as plain JSON, see ``compatibility``; None for state of the operator itself"""
    ttl: bool = False

    @staticmethod
    def of(info: StateInfo) -> StateDescription:
        described = info.described if info.type is None else describe_type(info.type)
        return StateDescription(info.name, info.kind, info.scope, described, info.ttl)

    def info(self) -> StateInfo:
        """The state for a job that is restored from it."""
        return StateInfo(self.name, self.kind, self.scope, None, self.ttl, self.type)


@dataclass(frozen=True)
class SavedOperator:
    """The state of one operator in a savepoint."""

    files: tuple[StateFile, ...] = ()
    smalls: tuple[str | None, ...] = ()
    """for each subtask its small state, a pickle in base 64; None: it has none"""
    watermark: int = 0
    """the lowest watermark of all subtasks (ms)"""
    watermarks: tuple[int, ...] = ()
    """watermark of each subtask (ms); they differ if packets wait at gates. Empty if an earlier version of Millrace
    wrote it"""

    def watermarks_of(self, subtask: int, parallelism: int) -> tuple[int, tuple[int, ...]]:
        """(watermark that a subtask starts with, watermarks of all earlier subtasks if their number differs; else
        empty), in ms."""
        if len(self.watermarks) == parallelism:
            return self.watermarks[subtask], ()
        return self.watermark, self.watermarks


@dataclass(frozen=True)
class Metadata:
    """The content of the metadata file of one checkpoint or savepoint."""

    kind: str
    """``checkpoint``: the state is in files of its job; ``savepoint``: all state is in the folder of this file"""
    job_id: str
    job_name: str
    id: int
    """the epoch at whose end it was taken"""
    time: int
    """when it was taken (ms)"""
    operators: tuple[OperatorPlace, ...]
    states: dict[str, tuple[StateDescription, ...]] = field(default_factory=dict)
    """uid -> the states that the operator's function has requested"""
    saved: dict[str, SavedOperator] = field(default_factory=dict)
    """uid -> the operator's state; savepoints only"""
    tasks: dict[tuple[int, int], TaskFiles] = field(default_factory=dict)
    """(stage, partition) -> the task's state files; checkpoints only"""
    edges: int = 0
    driver: str = ""
    """a pickle in base 64: positions of the sources, loops, committables, writer states"""
    aggregates: dict[str, dict[str, str]] = field(default_factory=dict)
    """uid -> name -> accumulator of a global aggregate, a pickle in base 64"""
    key_types: dict[str, Any] = field(default_factory=dict)
    """uid -> type of the keys of the operator's input as plain JSON, as far as known"""
    linked: bool = True
    """whether each file of a task names the file before it, as since format 2"""
    waiting: bool = False
    """whether packets wait at gates for operators that had no time for them"""

    @property
    def by_uid(self) -> dict[str, OperatorPlace]:
        return {place.uid: place for place in self.operators}

    def driver_state(self, load: Callable[[Any], Any]) -> tuple[Any, Any, Any, Any]:
        """(sources, loops, committables, writer states): the driver's pickle, as ``load`` reads it."""
        sources, loops, committables, writers = load(base64.b64decode(self.driver))
        return sources, loops, committables, writers

    @property
    def size(self) -> int:
        """Total size of the files in bytes."""
        stored = sum(file.size for saved in self.saved.values() for file in saved.files)
        return stored + sum(files.bytes for files in self.tasks.values())

    def snapshot(self) -> JobSnapshot:
        """The snapshot that the coordinator is restored from. Unpickles what the driver wrote."""
        sources, loops, committables, writers = self.driver_state(loads)
        return JobSnapshot(
            self.job_id,
            self.job_name,
            self.id,
            self.time,
            self.operators,
            self.tasks,
            sources,
            loops,
            committables,
            writers,
            edges=self.edges,
            aggregates={uid: _each(base64.b64decode, named) for uid, named in self.aggregates.items()},
            linked=self.linked,
            waiting=self.waiting,
        )


def checkpoint_metadata(snapshot: JobSnapshot) -> Metadata:
    return _metadata(CHECKPOINT, snapshot, {}, snapshot.tasks)


def savepoint_metadata(snapshot: JobSnapshot, saved: dict[str, SavedOperator]) -> Metadata:
    return _metadata(SAVEPOINT, snapshot, saved, {})


def _metadata(kind: str, snapshot: JobSnapshot, saved: Any, tasks: Any) -> Metadata:
    driver = dumps((snapshot.sources, snapshot.loops, snapshot.committables, snapshot.writers))
    states = {uid: tuple(map(StateDescription.of, infos)) for uid, infos in snapshot.states.items()}
    return Metadata(
        kind,
        snapshot.job_id,
        snapshot.job_name,
        snapshot.epoch,
        snapshot.time,
        snapshot.operators,
        states,
        saved,
        tasks,
        snapshot.edges,
        _as_text(driver),
        {uid: _each(_as_text, named) for uid, named in snapshot.aggregates.items()},
        _each(describe_type, snapshot.key_types),
        waiting=snapshot.waiting,
    )


def _as_text(payload: bytes) -> str:
    return base64.b64encode(payload).decode("ascii")


def _each(convert: Callable[[A], B], named: dict[str, A]) -> dict[str, B]:
    return {name: convert(value) for name, value in named.items()}


def saved_operators(saved: Iterable[SavedSubtask]) -> dict[str, SavedOperator]:
    """uid -> the state that its subtasks wrote."""
    subtasks: dict[str, list[SavedSubtask]] = {}
    for part in saved:
        subtasks.setdefault(part.uid, []).append(part)
    return {uid: _saved_operator(sorted(parts, key=lambda part: part.subtask)) for uid, parts in subtasks.items()}


def _saved_operator(parts: list[SavedSubtask]) -> SavedOperator:
    files = tuple(file for part in parts for file in part.files)
    smalls = tuple(None if part.small is None else base64.b64encode(part.small).decode("ascii") for part in parts)
    watermarks = tuple(part.watermark for part in parts)
    return SavedOperator(files, smalls, min(watermarks), watermarks)


def write_metadata(folder: Folder, metadata: Metadata) -> int:
    """Write the metadata file into ``folder``, which completes the checkpoint or savepoint. Returns its size in bytes.

    :raises SnapshotError: another one exists, so two drivers run the same job.
    """
    tasks = {f"{stage}-{partition}": files for (stage, partition), files in metadata.tasks.items()}
    text = {"millrace": VERSION, **vars(metadata), "tasks": tasks}
    # vars makes an object with fields of an object of ours.
    content = json.dumps(text, separators=(",", ":"), default=vars).encode()
    whole = b"".join([content[:-1], CHECKSUM, str(zlib.crc32(content)).encode(), b"}"])
    try:
        return folder.write_new(METADATA, whole)
    except FileExistsError:
        raise SnapshotError(
            f"{folder.uri} holds another checkpoint or savepoint already, which this process did not write: another "
            f"driver is at work on the same job"
        ) from None


def read_metadata(folder: Folder) -> Metadata:
    """The metadata in ``folder``.

    :raises SnapshotError: the file is missing or damaged, or a later version of Millrace wrote it.
    """
    path = f"{folder.uri}/{METADATA}"
    try:
        content = bytes(folder.read(METADATA))
    except (FileNotFoundError, NotADirectoryError):
        raise SnapshotError(f"{folder.uri} is no checkpoint or savepoint: it has no file {METADATA}") from None
    try:
        text = json.loads(content)
        version, checksum = text.pop("millrace"), text.pop("checksum")
    except (ValueError, KeyError, AttributeError) as error:
        raise CorruptFileError(path, f"it is not the JSON that Millrace writes ({error})") from None
    if version > VERSION:
        raise SnapshotError(f"{path} was written by a later version of Millrace (format {version}, known: {VERSION})")
    if zlib.crc32(content[: content.rindex(CHECKSUM)] + b"}") != checksum:
        raise CorruptFileError(path, "its checksum is wrong")
    try:
        return _parsed(_since_format_2(text) if version < 2 else text)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFileError(path, f"something is missing in it ({type(error).__name__}: {error})") from None


def _parsed(text: dict[str, Any]) -> Metadata:
    operators = tuple(_place(**place) for place in text.pop("operators"))
    states = {uid: tuple(StateDescription(**s) for s in found) for uid, found in text.pop("states").items()}
    saved = {uid: _saved(**operator) for uid, operator in text.pop("saved").items()}
    tasks = {}
    for task, files in text.pop("tasks").items():
        stage, partition = task.split("-")
        tasks[int(stage), int(partition)] = TaskFiles(**files)
    return Metadata(operators=operators, states=states, saved=saved, tasks=tasks, **text)


def _place(meaning: Sequence[str] = (), tables: Sequence[Any] = (), **place: Any) -> OperatorPlace:
    return OperatorPlace(**place, meaning=tuple(meaning), tables=tuple(map(StateTable.of, tables)))


def _since_format_2(text: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, which had the epochs of all tasks in one list, and for each task the runs in its last
    epochs.
    """
    history = [0, *text.pop("history")]
    tasks = {}
    for task, chain in text.pop("tasks").items():
        runs, sizes = chain["runs"], chain["delta_bytes"]
        epochs = history[len(history) - len(runs) :]
        changes = (f"{epoch}-{run}:{size}" for epoch, run, size in zip(epochs[1:], runs[1:], sizes))
        whole = version_of(epochs[0], runs[0])
        tasks[task] = vars(TaskFiles(whole, chain["full_bytes"], sum(sizes), " ".join(changes)))
    return {**text, "tasks": tasks, "linked": False}


def _saved(files: list[Any], smalls: list[str | None], watermark: int, watermarks: Sequence[int] = ()) -> SavedOperator:
    found = tuple(StateFile(**file) for file in files)
    for file in found:
        if file.path.startswith("/") or ".." in file.path.split("/"):
            raise ValueError(f"the path {file.path!r} leaves its folder")
    return SavedOperator(found, tuple(smalls), watermark, tuple(watermarks))


# Deleting a savepoint


class NotDisposedError(Exception):
    """The savepoint was not deleted; the text says why."""


def dispose(path: str) -> str:
    """Delete the savepoint at a path; returns its folder.

    :raises NotDisposedError: there is no savepoint, its folder contains other files, or it cannot be deleted.
    """
    try:
        folder = open_folder(absolute(path).rstrip("/").removesuffix(f"/{METADATA}"))
        _check(folder)
        folder.delete_tree()
    except (OSError, ValueError, SnapshotError) as error:
        raise NotDisposedError(f"nothing is deleted: {error}") from None
    return folder.uri


def _check(folder: Folder) -> None:
    """Check that a folder contains a savepoint and nothing else. Raises ``ValueError``, ``OSError``,
    ``SnapshotError``.
    """
    metadata = read_metadata(folder)
    if metadata.kind != SAVEPOINT:
        raise ValueError(
            f"{folder.uri} is a checkpoint of job {metadata.job_id}, which shares files with others; nearest: when the "
            "job needs none of them any more, delete the folder of the job"
        )
    own = {METADATA, *(file.path for saved in metadata.saved.values() for file in saved.files)}
    others = sorted(set(folder.files()) - own)
    if others:
        raise ValueError(f"{folder.uri} holds more than the savepoint ({others[0]}): put that elsewhere first")
