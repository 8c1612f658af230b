"""The file of one task and epoch: its state in sections, of which a reader takes those that it needs.

A file is: ``MAGIC`` | sections | index | length of the index (4 bytes) | CRC-32 of the index (4) | ``MAGIC``. A section
is one or more pickles (protocol 5) of one operator's state: all of it, its keyed state of a range of key groups, or the
rest. The index is JSON; in a file of changes it also contains the past of the version: earlier versions, and whether
the first of them is the beginning. It says whose state the file contains, so that a file in the place of another one is
noticed, and has the checksum of each section. The checksum of the index therefore identifies the file, and is recorded
in checkpoints.

Files of format 1, whose sections contain all state of an operator, can be read, too.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, NamedTuple

from millrace.checkpoint.folder import CorruptFileError
from millrace.checkpoint.moved import load as load_stored
from millrace.checkpoint.sections import GATHERED_BYTES, Divider
from millrace.checkpoint.stored_file import StoredFile
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.storage import Past, dumps
from millrace.runtime.tasks.member import OperatorDeltas, TaskDelta

__all__ = ["ALL", "KEYED_SECTIONS", "REST", "Section", "StateOf", "TaskFile", "checksum_in", "task_file", "together"]


MAGIC = b"MLRSTAT2"
"""marks the beginning and the end of a file; the last character is the version of the format"""
_MAGIC_1 = b"MLRSTAT1"
_END = struct.Struct("<II8s")
UNDIVIDED = 1_000
"""Changes with fewer entries than this are not worth dividing."""
_END_BYTES = 64 * 1024
"""The number of bytes read at the end of a file, which usually contain the whole index."""
_TOGETHER = 4 * 1024 * 1024
"""The most bytes of neighbouring sections that are read at once."""

ALL, KEYED_SECTIONS, REST = "all", "keyed", "rest"
Load = Callable[[IO[bytes]], Any]
"""reads one pickle from a stream"""


class StateOf(NamedTuple):
    """The job, task, epoch and run whose state a file contains."""

    job: str
    """id of the job; empty: not known"""
    stage: int
    partition: int
    epoch: int
    run: int

    def __str__(self) -> str:
        job = f" of job {self.job}" if self.job else ""
        return f"task {self.stage}-{self.partition} after epoch {self.epoch} (run {self.run}){job}"

    def is_another(self, other: StateOf) -> bool:
        return self[1:] != other[1:] or bool(self.job and other.job and self.job != other.job)


class Section(NamedTuple):
    uid: str
    """uid of the operator"""
    holds: str
    """what the section contains: ``ALL``, only ``KEYED`` state, or the ``REST``"""
    first: int
    """lowest key group of the keyed state; -1: any"""
    last: int
    begin: int
    length: int
    checksum: int

    def may_hold(self, groups: range) -> bool:
        """Whether it may contain keyed state of some key groups."""
        return self.holds != REST and (self.first < 0 or (self.first < groups.stop and self.last >= groups.start))

    def is_within(self, groups: range) -> bool:
        """Whether all its keyed state belongs to these key groups."""
        return self.first in groups and self.last in groups


# -- writing ----------------------------------------------------------------------------------------------------------


def task_file(
    pieces: Iterable[TaskDelta],
    key_groups: Mapping[str, int],
    whole: bool,
    past: Past | None = None,
    of: StateOf | None = None,
) -> Iterator[bytes]:
    """The content of a file as pieces of bytes, so that little is in memory at a time.

    :param key_groups: uid of an operator -> number of key groups; state of other operators is not divided.
    :param whole: whether the pieces are full state, not the changes of an epoch.
    :param past: the versions that the changes follow; None for a whole state.
    :param of: identifies the state.
    """
    writer = _Writer(key_groups, whole, past, of)
    yield MAGIC
    for piece in pieces:
        for uid, state in piece.items():
            yield from writer.add(uid, state)
    yield from writer.finish()


def checksum_in(end: bytes) -> int:
    """The checksum of a file, from the last piece that was written."""
    checksum: int = _END.unpack(end)[1]
    return checksum


class _Writer:
    def __init__(self, key_groups: Mapping[str, int], whole: bool, past: Past | None, of: StateOf | None) -> None:
        self._key_groups, self._whole, self._past, self._of = key_groups, whole, past, of
        self._dividers: dict[str, Divider] = {}
        self._sections: list[Section] = []
        self._place = len(MAGIC)

    def add(self, uid: str, state: OperatorDeltas) -> Iterator[bytes]:
        keyed, *rest = state
        if keyed is None or uid not in self._key_groups or not (self._whole or _is_large(keyed)):
            yield self._section(uid, REST if keyed is None else ALL, dumps(state))
            return
        divider = self._dividers.get(uid)
        if divider is None:
            divider = self._dividers[uid] = Divider(self._key_groups[uid], self._whole)
        left = divider.add(keyed)
        if left:
            yield self._section(uid, KEYED_SECTIONS, dumps((left, None, None, None, None)))
        if any(part is not None for part in rest):
            yield self._section(uid, REST, dumps((None, *rest)))
        if sum(waiting.size for waiting in self._dividers.values()) > GATHERED_BYTES:
            yield from self._gathered()

    def _gathered(self) -> Iterator[bytes]:
        for uid, divider in self._dividers.items():
            for first, last, content in divider.take():
                yield self._section(uid, KEYED_SECTIONS, content, first, last)

    def _section(self, uid: str, holds: str, content: bytes, first: int = -1, last: int = -1) -> bytes:
        self._sections.append(Section(uid, holds, first, last, self._place, len(content), zlib.crc32(content)))
        self._place += len(content)
        return content

    def finish(self) -> Iterator[bytes]:
        yield from self._gathered()
        index: dict[str, Any] = {"sections": self._sections}
        if self._past is not None:
            index["past"] = (self._past.versions, self._past.begins)
        if self._of is not None:
            index["of"] = self._of
        written = json.dumps(index, separators=(",", ":")).encode()
        yield written
        yield _END.pack(len(written), zlib.crc32(written), MAGIC)


def _is_large(keyed: KeyedDelta) -> bool:
    return sum(len(entries) for _, entries in keyed.values()) > UNDIVIDED


# -- reading ----------------------------------------------------------------------------------------------------------


class TaskFile:
    """A file that is open for reading, for as long as ``file`` is.

    :param path: name of the file in errors.
    :param of: identifies the state that must be in the file, if the file says so.
    :param checksum: the checksum when it was written; None: not known.
    :raises CorruptFileError: the content is not what was written; all methods raise it.
    """

    def __init__(self, path: str, file: StoredFile, of: StateOf | None = None, checksum: int | None = None) -> None:
        self._path, self._file = path, file
        self._wanted, self._checksum = of, checksum
        self._past: tuple[list[int], bool] | None = None
        ending = min(file.size, _END_BYTES)
        self._known = memoryview(file.read(file.size - ending, ending))
        self._known_from = file.size - ending
        self.sections = self._index()

    def _index(self) -> list[Section]:
        if self._file.size < len(MAGIC) + _END.size or self._bytes(0, len(MAGIC)) not in (MAGIC, _MAGIC_1):
            raise CorruptFileError(self._path, f"it is no state file of this version ({self._file.size} bytes)")
        length, checksum, magic = _END.unpack(self._known[-_END.size :])
        begin = self._file.size - _END.size - length
        written = self._bytes(begin, length) if begin >= len(MAGIC) else b""
        if magic not in (MAGIC, _MAGIC_1) or zlib.crc32(written) != checksum or not written:
            raise CorruptFileError(self._path, "its end is damaged or missing")
        index = json.loads(bytes(written))
        self._check(index, checksum)
        if magic == _MAGIC_1:
            return [Section(uid, ALL, -1, -1, *place) for uid, *place in index]
        self._past = index.get("past")
        return [Section(*section) for section in index["sections"]]

    def _check(self, index: Any, checksum: int) -> None:
        found = StateOf(*index["of"]) if isinstance(index, dict) and "of" in index else None
        if self._wanted is not None and found is not None and found.is_another(self._wanted):
            raise CorruptFileError(self._path, f"another file is in its place: the state of {found}")
        if self._checksum is not None and checksum != self._checksum:
            raise CorruptFileError(
                self._path,
                f"it is not the file that was written: its checksum is {checksum:08x}, not {self._checksum:08x}",
            )

    def past(self) -> Past:
        """The versions that the changes in the file follow."""
        if self._past is None:
            raise CorruptFileError(self._path, "it does not say what its changes are onto")
        versions, begins = self._past
        return Past(tuple(versions), begins)

    def _bytes(self, begin: int, length: int) -> Any:
        start = begin - self._known_from
        return self._file.read(begin, length) if start < 0 else self._known[start : start + length]

    def read(
        self, wanted: Callable[[Section], bool], load: Load = load_stored
    ) -> Iterator[tuple[Section, OperatorDeltas]]:
        """The content of the wanted sections, piece by piece, in the order in which it was written.

        :param load: reads a pickle; ``inert_load`` for files that are only inspected.
        """
        for run in _neighbours(filter(wanted, self.sections)):
            begin = run[0].begin
            content = memoryview(self._bytes(begin, run[-1].begin + run[-1].length - begin))
            for section in run:
                start = section.begin - begin
                yield from self._pieces(section, content[start : start + section.length], load)

    def _pieces(self, section: Section, content: memoryview, load: Load) -> Iterator[tuple[Section, OperatorDeltas]]:
        if len(content) != section.length or zlib.crc32(content) != section.checksum:
            raise CorruptFileError(self._path, f"the checksum of the state of operator {section.uid} is wrong")
        stream = io.BytesIO(content)
        while stream.tell() < section.length:
            yield section, load(stream)


def together(delta: OperatorDeltas, piece: OperatorDeltas) -> OperatorDeltas:
    """Merge a piece of one operator's changes of an epoch into ``delta``, which is changed in place."""
    keyed, *rest = delta
    added, *others = piece
    if keyed is None or added is None:
        keyed = added if keyed is None else keyed
    else:
        for name, (kind, entries) in added.items():
            keyed.setdefault(name, (kind, {}))[1].update(entries)
    shared, small, gate, measures = (other if known is None else known for known, other in zip(rest, others))
    return keyed, shared, small, gate, measures


def _neighbours(sections: Iterable[Section]) -> Iterator[list[Section]]:
    """The sections in groups that are neighbours in the file."""
    run: list[Section] = []
    size = 0
    for section in sections:
        if run and (section.begin != run[-1].begin + run[-1].length or size + section.length > _TOGETHER):
            yield run
            run, size = [], 0
        run.append(section)
        size += section.length
    if run:
        yield run
