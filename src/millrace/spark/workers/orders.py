"""Brings the orders of an epoch to its tasks, and the driver's wish to end the running epoch.

Orders are in a property of Spark's job, or in one file that the property names: the property travels with every task,
so it must be short. The file's name has epoch and attempt: a task that is late finds its own order, or none, never that
of another epoch. The file is: a slot of fixed size for each task | the pieces that are larger than a slot.
"""

from __future__ import annotations

import base64
import contextlib
import pickle
import struct
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from time import monotonic
from typing import Any

from millrace.checkpoint.folder import Folder, LocalFolder
from millrace.checkpoint.task_storage import ORDERS
from millrace.runtime.bases.epoch_protocol import EpochOrder, EpochPlan, TaskOrder
from millrace.runtime.coordination.checkpoints import Cleaner
from millrace.runtime.storage import TaskId, dumps
from millrace.runtime.tasks.worker import StaleOrderError

INLINE = 8 * 1024
"""Bytes of all tasks' orders together that travel with every task; more go through a file."""
KEPT = 8
"""How many epochs' order files stay, for tasks that are late."""
SLOT = 256
"""Bytes of a slot: enough for a task that has nothing new to read."""
_HEAD = struct.Struct("<QII")
"""The head of a slot: where the piece begins (0: in the slot itself), its length in bytes, its CRC-32."""


class Orders:
    """The driver's side.

    :param partitions: of each stage of the job.
    :param folder: one that all tasks reach; None: there is none.
    """

    def __init__(self, partitions: Sequence[int], folder: Folder | None, cleaner: Cleaner) -> None:
        self._tasks = [(stage, partition) for stage, width in enumerate(partitions) for partition in range(width)]
        self._starts = tuple(accumulate(partitions, initial=0))[:-1]
        self._folder = folder
        self._cleaner = cleaner
        self._files: deque[str] = deque()

    def publish(self, plan: EpochPlan) -> str:
        """The text of the property for this epoch."""
        pieces = [_packed(plan.of(task)) for task in self._tasks]
        if self._folder is None or sum(map(len, pieces)) <= INLINE:
            return _text(plan.order, dict(zip(self._tasks, pieces)))
        path = _order_path(plan.order)
        self._folder.write(path, _file(pieces))
        self._files.append(path)
        self._delete(KEPT)
        return _text(plan.order, (path, self._starts))

    def close(self) -> None:
        """No task will run any more."""
        self._delete(0)

    def _delete(self, leave: int) -> None:
        while self._folder is not None and len(self._files) > leave:
            path = self._files.popleft()
            self._cleaner.submit(f"{self._folder.uri}/{path}", partial(self._folder.delete, path))


def read(text: str, folder: Folder, task: TaskId) -> tuple[EpochOrder, TaskOrder]:
    """What a task has to know. Only for texts that ``Orders`` of this job's driver made.

    :raises StaleOrderError: the epoch was over long ago.
    """
    order, where = pickle.loads(base64.b64decode(text))
    if isinstance(where, dict):
        return order, _unpacked(where[task])
    path, starts = where
    try:
        return order, _unpacked(_piece(folder, path, starts[task[0]] + task[1]))
    except FileNotFoundError:
        raise StaleOrderError(f"{folder.uri}/{path}: the order of epoch {order.epoch} is gone") from None


def _order_path(order: EpochOrder) -> str:
    return f"{ORDERS}/{order.epoch}-{order.attempt}"


def _text(order: EpochOrder, where: Any) -> str:
    return base64.b64encode(dumps((order, where))).decode("ascii")


def _packed(own: TaskOrder) -> bytes:
    return dumps((own.base, own.whole, own.stored, own.ran, own.compact, own.from_files, own.sources or None))


def _unpacked(piece: Any) -> TaskOrder:
    base, whole, stored, ran, compact, from_files, sources = pickle.loads(piece)
    return TaskOrder(base, whole, stored, ran, compact, from_files, sources or {})


def _file(pieces: Sequence[bytes]) -> Iterator[bytes]:
    place = SLOT * len(pieces)
    for piece in pieces:
        fits = len(piece) <= SLOT - _HEAD.size
        head = _HEAD.pack(0 if fits else place, len(piece), zlib.crc32(piece))
        yield (head + (piece if fits else b"")).ljust(SLOT, b"\0")
        place += 0 if fits else len(piece)
    yield from (piece for piece in pieces if len(piece) > SLOT - _HEAD.size)


def _piece(folder: Folder, path: str, number: int) -> Any:
    slot = memoryview(folder.read_range(path, number * SLOT, SLOT))
    if len(slot) == SLOT:
        begin, length, checksum = _HEAD.unpack(slot[: _HEAD.size])
        piece = folder.read_range(path, begin, length) if begin else slot[_HEAD.size : _HEAD.size + length]
        if zlib.crc32(piece) == checksum:
            return piece
    raise OSError(f"{folder.uri}/{path} is damaged")


LOOK_SECONDS = 0.05


def _mark_path(epoch: int) -> str:
    return f"{ORDERS}/{epoch}-finish"


class FinishMarks:
    """The driver's side. Where tasks find no file of the driver's, an epoch ends by its time alone.

    :param folder: one that all tasks reach; None: there is none.
    """

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder if isinstance(folder, LocalFolder) else None
        self._epoch: int | None = None
        self._written: list[str] = []

    def begin(self, epoch: int) -> None:
        """An epoch begins, and those before it are over."""
        self._epoch = None
        self._delete()
        self._epoch = epoch

    def finish(self) -> None:
        """Let the epoch that runs end, from any thread."""
        epoch = self._epoch
        if self._folder is not None and epoch is not None:
            path = _mark_path(epoch)
            self._written.append(path)
            with contextlib.suppress(OSError):  # then it ends by its time
                self._folder.write(path, [b""])

    def close(self) -> None:
        """No epoch will run any more."""
        self._epoch = None
        self._delete()

    def _delete(self) -> None:
        while self._folder is not None and self._written:
            self._folder.delete(self._written.pop())


class Finishing:
    """A task's side: whether its epoch is to end now."""

    def __init__(self, folder: Folder, epoch: int) -> None:
        self._folder = folder if isinstance(folder, LocalFolder) else None
        self._path = _mark_path(epoch)
        self._next_look = 0.0

    def __call__(self) -> bool:
        now = monotonic()
        if self._folder is None or now < self._next_look:
            return False
        self._next_look = now + LOOK_SECONDS
        return self._folder.size(self._path) is not None
