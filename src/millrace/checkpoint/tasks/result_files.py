"""Results that are too many for acknowledgements: files in the folder of the job, which the driver takes out.

    results/<epoch>/<stage>-<partition>-<run>-<number>

Every run of a task has names of its own, so it does not matter how many there were: the driver reads what the run names
that it has heard of. The other files go with their epoch, or with the job.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from millrace.checkpoint.files.folder import Folder
from millrace.runtime.coordination.cleaning import Cleaner
from millrace.runtime.protocol.results import Result, ResultFile
from millrace.runtime.storage import TaskId

__all__ = ["JobResults", "ResultsLostError", "TaskResults"]

RESULTS = "results"


class ResultsLostError(Exception):
    """What an epoch has collected can't be read, and that epoch is done: the job can't go on without a gap."""


class TaskResults:
    """The files of one run of a task.

    :param run: another number for each run of the task in this epoch.
    """

    def __init__(self, folder: Folder, epoch: int, task: TaskId, run: int) -> None:
        stage, partition = task
        self._folder = folder
        self._names = (f"{RESULTS}/{epoch}/{stage}-{partition}-{run}-{number}" for number in itertools.count())

    def write(self, parts: Sequence[bytes]) -> ResultFile:
        path = next(self._names)
        self._folder.write(path, parts)
        return ResultFile(path, tuple((len(part), zlib.crc32(part)) for part in parts))


class JobResults:
    """The driver's side. A file is deleted when it was read."""

    def __init__(self, folder: Folder, cleaner: Cleaner) -> None:
        self._folder = folder
        self._cleaner = cleaner
        self._epochs: list[int] = []
        """those that may have left files"""
        self._left_files = False
        """whether they have"""

    def begin_epoch(self, epoch: int) -> None:
        self._epochs.append(epoch)

    def parts(self, results: Iterable[Result]) -> Iterator[bytes]:
        """The parts, one after the other.

        :raises ResultsLostError: a file is missing or damaged.
        """
        for result in results:
            if isinstance(result, ResultFile):
                self._left_files = True
                yield from self._read(result)
                self._delete(partial(self._folder.delete, result.path), result.path)
            else:
                yield result

    def take(self, results: Iterable[Result]) -> Iterator[bytes]:
        """The parts of an epoch that has ended; afterwards nothing is left of the epochs that have begun.

        :raises ResultsLostError: a file is missing or damaged.
        """
        yield from self.parts(results)
        # Runs that was never acknowledged, and epochs that failed, may have left some, too.
        if self._left_files or len(self._epochs) > 1:
            for epoch in self._epochs:
                path = f"{RESULTS}/{epoch}"
                self._delete(partial(self._folder.delete_tree, path), path)
        self._epochs.clear()
        self._left_files = False

    def close(self) -> None:
        """Nothing is taken any more."""
        self._folder.delete_tree(RESULTS)

    def _read(self, result: ResultFile) -> Iterator[bytes]:
        file = f"what a task has collected in {self._folder.uri}/{result.path}"
        try:
            with self._folder.open(result.path) as stored:
                begin = 0
                for length, checksum in result.parts:
                    part = bytes(stored.read(begin, length))
                    if len(part) != length or zlib.crc32(part) != checksum:
                        raise ResultsLostError(f"{file} is damaged")
                    begin += length
                    yield part
        except OSError as error:
            raise ResultsLostError(f"{file} can't be read: {error}") from error

    def _delete(self, delete: partial[None], path: str) -> None:
        self._cleaner.submit(f"{self._folder.uri}/{path}", delete)
