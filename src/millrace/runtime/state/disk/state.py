"""The state on disk of one copy of a task, brought to the version that an epoch starts from.

The environment on disk has the content at the end of one completed epoch, its version. What a copy has changed since
then is in its memory, and in the deltas of the checkpoint storage. It is written to the environment before the next
epoch, when its epoch is known to be acknowledged. A new copy starts from the environment if that has an acknowledged
version.

Timers that fire between epochs change the state again. Before the first of them fires, the changes of the last epoch
are moved into a draft of the next write, so that they stay separate from the timers' changes, which belong to the next
epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter_ns

from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.backend import DiskStateBackend, RowsPlace, flush_all
from millrace.runtime.state.disk.content import (
    HEAD,
    Head,
    note_successor,
    prefix_of,
    read_head,
    read_small,
    version_and_successor,
    write_head,
    write_small_changes,
    write_small_whole,
)
from millrace.runtime.state.disk.environment import (
    Environment,
    UnusableError,
    create_environment,
    open_environment,
)
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.task_directory import TaskDirectory, delete
from millrace.runtime.state.disk.timer_queue import DiskTimerQueue
from millrace.runtime.state.disk.write_batch import WriteBatch
from millrace.runtime.state.disk.writer import BATCH, Writer
from millrace.runtime.state.figures import WRITE_MILLIS, WRITES, Figures
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.working import Piece, WorkingState, back_to, rebuild
from millrace.runtime.storage import INITIAL, Past, StateStorage, TaskId

SPILL_ENTRIES = 200_000
"""The number of changed entries that may be in memory while state is loaded."""


class OutdatedError(RuntimeError):
    """Another copy of the task is further: the epoch that this copy runs has been given up."""


class DiskState(WorkingState):
    """The state of a copy of a task whose keyed state is on disk.

    :param place: the directory that the copies of the task share.
    :param small: gives the state of the task without its keyed state.
    :param rows_memory: the bytes of rows that all tables of the process may have in memory.
    """

    def __init__(self, place: TaskDirectory, small: Callable[[], Piece], rows_memory: int) -> None:
        self._place = place
        self._small = small
        self._rows_memory = rows_memory
        self._reader = Reader(self._damaged)
        self._backends: dict[str, DiskStateBackend] = {}
        self._environment: Environment | None = None
        """the environment that the tables read"""
        self._published = False
        """whether other copies can find the environment, so that it must always be at some version"""
        self._base: int | None = None
        """version of the environment"""
        self._since: list[tuple[int, Piece]] = []
        """(version, changes of what is not on disk) for the versions since ``_base``"""
        self._at = INITIAL
        """the version of this copy"""
        self._draft: WriteBatch | None = None
        """the changes from ``_base`` to ``_at``, if timers have fired since"""
        self._whole_was_taken = False
        self._writes = self._write_nanos = 0
        """writing transactions so far, and their time (ns), in which rows in columns are written, too"""

    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        rows = RowsPlace(partial(self._place.rows_folder, uid), self._rows_memory)
        backend = DiskStateBackend(self._reader, time, self._spill, self._note_whole, rows)
        self._backends[uid] = backend
        return backend

    def _note_whole(self) -> None:
        self._whole_was_taken = True

    # -- before an epoch ------------------------------------------------------------------------------------------

    def load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        if not self._backends:  # a task without keyed state
            yield from rebuild(task, past, storage)
            return
        for newer, piece in self._load(task, past, storage):
            yield newer, piece
            if self._published and self.pending() > SPILL_ENTRIES:
                self._flush(newer)
        self._write_what_counts(past.versions[-1])

    def _load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        found = self._find(task, past, storage)
        if found is None:
            yield from rebuild(task, past, storage)
            return
        environment, past = found
        base = self._see(environment)
        newer = [version for version in past.versions if version > base]
        try:
            first = [storage.read_delta(task, version) for version in newer[:1]]
        except KeyError:  # what leads on from here was deleted
            self._withdraw(environment)
            yield from rebuild(task, past, storage)
            return
        yield from read_small(self._reader)
        for version, delta in zip(newer, first):
            yield self._noted(version, delta)
        for version in newer[1:]:
            yield self._noted(version, storage.read_delta(task, version))

    def goes_on(self) -> bool:
        if not self._backends:
            return True
        environment = self._environment
        if environment is not None and self._published and self._place.current() != environment.path:
            return False
        fired = self._draft is not None
        if not self._draft:
            self._draft = None  # the last epoch has changed nothing
        try:
            if not self._see_again():
                return False
            if self._draft is not None:
                self._flush(self._at)
            elif not fired:
                self._write_what_counts(self._at)
        except OutdatedError:
            return False
        return True

    def _see_again(self) -> bool:
        """Let the tables read the same content as before; False if the environment is at another version now."""
        environment, draft = self._environment, self._draft
        seen = environment if draft is None else draft
        if seen is not None:
            self._reader.begin(seen)
        below = self._reader if draft is None else draft.below
        return environment is None or read_head(below.get).version == self._base

    def _write_what_counts(self, version: int) -> None:
        """Write all changes so far, which lead to this version, because their epochs were acknowledged."""
        self._at = version
        unfinished = self._environment is not None and (self._since or not self._published)
        if unfinished or self.pending():
            self._flush(version)

    def _noted(self, version: int, delta: Piece) -> tuple[int, Piece]:
        if self._environment is not None:
            self._since.append((version, self._without_stored(delta)))
        return version, delta

    def _without_stored(self, delta: Piece) -> Piece:
        """The part of a delta that does not belong to tables on disk."""
        return {
            uid: (None if keyed is None else self._backends[uid].resident(keyed), *rest)
            for uid, (keyed, *rest) in delta.items()
        }

    # -- after an epoch -------------------------------------------------------------------------------------------

    def finish(self, version: int, delta: Piece | None) -> None:
        if delta is not None:
            self._at, _ = self._noted(version, delta)
        environment = self._environment
        if environment is not None and not self._published:
            # The restored state of another job, which does not fit into memory. If this epoch fails, the environment is
            # never published.
            self._flush(version)
        elif environment is not None and self._whole_was_taken:
            # From now on the task's history may begin with this version.
            with self._place.lock():
                note_successor(environment, self._base, version)
        self._whole_was_taken = False
        self._reader.end()

    def figures(self) -> Figures:
        if self._environment is None:
            return {}
        written = {WRITES: self._writes, WRITE_MILLIS: self._write_nanos // 1_000_000}
        return {**self._environment.figures(), **written}

    def close(self) -> None:
        for backend in self._backends.values():
            backend.close()
        self._reader.end()
        if self._environment is not None and not self._published:
            delete(self._environment.path)

    # -- between epochs -------------------------------------------------------------------------------------------

    @contextmanager
    def looking(self) -> Iterator[bool]:
        try:
            yield self._see_again()
        finally:
            self._reader.end()

    @contextmanager
    def firing(self) -> Iterator[bool]:
        with self.looking() as same:
            yield same and (self._draft is not None or self._begin_draft())

    def _begin_draft(self) -> bool:
        """Move the changes of the last epoch out of the tables into the draft; False if the environment is at another
        version."""
        self._draft = draft = WriteBatch(self._environment, self._damaged)
        begun = False
        try:
            if self._see_again():
                if self._since or self.pending():
                    with Writer(draft, at_once=False) as writer:
                        head = read_head(writer.get)
                        self._write_content(writer, head, self._at)
                    self._since = []
                    self._forget_changes()
                    self._read_from(head)
                begun = True
        finally:
            if not begun:
                self._draft = None
        return begun

    # -- the environment ------------------------------------------------------------------------------------------

    def _find(self, task: TaskId, past: Past, storage: StateStorage) -> tuple[Environment, Past] | None:
        """The environment that all copies share, if its version was acknowledged, and the versions since."""
        if self._place.current() is None:
            return None
        with self._place.lock():
            path = self._place.current()
            if path is None:
                return None
            try:
                environment = open_environment(path)
                version, successor = version_and_successor(environment)
            except UnusableError:
                self._place.withdraw(path)
                return None
        past = back_to(task, past, storage, version)
        if version in past.versions or successor == (version, past.versions[0]):
            return environment, past
        with self._place.lock():
            self._place.withdraw(path)
        return None

    def _see(self, environment: Environment, published: bool = True) -> int:
        """Let the tables read the present content of an environment, without changes; returns its version."""
        self._reader.begin(environment)
        head = read_head(self._reader.get)
        self._environment, self._published, self._base, self._since = environment, published, head.version, []
        self._forget_changes()
        self._read_from(head)
        return head.version or INITIAL

    def _see_without_draft(self, environment: Environment) -> None:
        """The draft was written: let the tables read the environment, with the changes made since."""
        self._reader.begin(environment)
        head = read_head(self._reader.get)
        self._environment, self._published, self._base, self._draft = environment, True, head.version, None
        for (uid, name), (number, kind) in head.tables.items():
            self._backends[uid].stored_as(name, kind).shelf.prefix = prefix_of(number)

    def _read_from(self, head: Head) -> None:
        """Let tables without changes read the stored content."""
        for (uid, name), (number, kind) in head.tables.items():
            stored = self._backends[uid].stored_as(name, kind)
            stored.shelf.prefix = prefix_of(number)
            if isinstance(stored, DiskTimerQueue):
                stored.go_on_from(head.timer_numbers[uid, name])

    def _forget_changes(self) -> None:
        """Empty the tables."""
        for backend in self._backends.values():
            for stored in backend.stored().values():
                stored.forget()
                stored.shelf.prefix = None

    def pending(self) -> int:
        return sum(backend.pending() for backend in self._backends.values())

    def _spill(self) -> None:
        """Write changes that are too large for memory into an unpublished environment."""
        if not self._published and self.pending() > SPILL_ENTRIES:
            self._flush(None)

    def _flush(self, version: int | None) -> None:
        """Write all changes, or the draft, so that the content is at ``version``; None: at no version, since more will
        follow."""
        self._reader.end()
        with self._place.lock():
            environment = self._environment or create_environment(self._place.new())
            began = perf_counter_ns()
            try:
                self._write(environment, version)
            except environment.failure as error:
                raise RuntimeError(f"could not write keyed state to {environment.path}: {error}") from error
            self._writes += 1
            self._write_nanos += perf_counter_ns() - began
            if version is not None and not self._published:
                self._place.publish(environment.path)
        if self._draft is None:
            self._see(environment, self._published or version is not None)
        else:
            self._see_without_draft(environment)

    def _write(self, environment: Environment, version: int | None) -> None:
        environment.forget_dead_readers()
        draft = self._draft
        entries = self.pending() if draft is None else len(draft)
        with Writer(environment, at_once=self._published and entries <= BATCH) as writer:
            head = read_head(writer.get)
            if self._published and head.version != self._base:
                if head.version == version:
                    return  # another copy of the task was faster, and has written the same
                raise OutdatedError(f"{environment.path} is at version {head.version} now, not at {self._base}")
            if not writer.at_once:
                head.version = None
                write_head(writer, head)
                writer.commit()
            if draft is None:
                self._write_content(writer, head, version)
            else:
                draft.copy_to(writer, last=HEAD)

    def _write_content(self, writer: Writer, head: Head, version: int | None) -> None:
        flush_all(self._backends, writer, head)
        head.version = version
        if version is not None and not (self._published and write_small_changes(writer, head, self._since)):
            write_small_whole(writer, head, self._whole_small())
        write_head(writer, head)

    def _whole_small(self) -> list[Piece]:
        """All state that is not on disk, as changes onto a new copy."""
        pieces = [self._small()]
        for uid, backend in self._backends.items():
            pieces += ({uid: (keyed, None, None, None, None)} for keyed in backend.resident_pieces())
        return pieces

    def _withdraw(self, environment: Environment) -> None:
        """Continue without the environment, which can't be used any more."""
        self._reader.end()
        with self._place.lock():
            self._place.withdraw(environment.path)
        self._environment, self._published, self._base, self._since = None, False, None, []
        self._forget_changes()

    def _damaged(self, error: Exception) -> Exception:
        """The error to raise when reading has failed; the environment is withdrawn."""
        environment = self._environment
        assert environment is not None, "something was read"
        with self._place.lock():
            self._place.withdraw(environment.path)
        return RuntimeError(
            f"the keyed state in {environment.path} can't be read ({error}); it was deleted, and the next attempt will "
            f"rebuild it from the files of the job"
        )
