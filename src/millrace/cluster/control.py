"""What can be asked of one job: the contract between the one that runs it and the one that steers it.

A job in this process, one in another process (over its socket) and one that has ended (from its archive) fulfil it.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import FrameDocument, ThreadDocument


class JobOverError(Exception):
    """The job has ended, so what was asked for can't be done. The text names job and state."""


class JobControl(Protocol):
    """One job. Futures end with what was asked for, or with an exception whose text says why not."""

    def document(self) -> JobDocument:
        """The job as it is now, at most a second old."""

    def cancel(self) -> None:
        """Begin to cancel; nothing happens if that has begun or happened already.

        :raises JobOverError: it has finished or failed.
        """

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        """Take a savepoint; its path."""

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        """Take a savepoint and end the job; its path."""

    def checkpoint(self, full: bool) -> Future[int]:
        """Take a checkpoint with the next epoch; its number."""

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        """What a keyed state holds for a key; None for nothing."""

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        """The threads of the job's own process, or of its workers on an executor."""

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        """What the functions of a vertex did over the last seconds.

        :param mode: ``full``, ``on_cpu`` or ``off_cpu``.
        """
