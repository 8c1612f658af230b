"""Savepoints of a running job: requests from any thread, one of which each epoch answers."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from millrace.checkpoint.files.folder import open_folder
from millrace.checkpoint.savepoints.metadata import saved_operators, savepoint_metadata, write_metadata
from millrace.common.files.file_systems import absolute
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult
from millrace.spark.errors import reason
from millrace.spark.jobs.futures import fail, succeed

SAVEPOINT_DIRECTORY = "execution.checkpointing.savepoint-dir"


class SavepointError(Exception):
    """A savepoint was not taken; the job is as it was before."""


@dataclass(frozen=True)
class SavepointRequest:
    """A savepoint that is waited for."""

    uri: str
    stop: bool = False
    """end the job after it"""
    drain: bool = False
    """let the sources end before it, so that all event-time timers fire"""
    answer: Future[str] = field(default_factory=Future)


class Savepoints:
    """The requests that wait for the end of an epoch."""

    def __init__(self, job_id: str, job_name: str, directory: str | None) -> None:
        self._job_id = job_id
        self._job_name = job_name
        self._directory = directory
        self._lock = threading.Lock()
        self._waiting: deque[SavepointRequest] = deque()
        self._closed: str | None = None
        self.last: str | None = None
        """path of the one that ends the job, once its epoch has begun"""

    def request(self, directory: str | None, stop: bool = False, drain: bool = False) -> Future[str]:
        """The path of the savepoint, when it is there. The future raises ``SavepointError`` if it fails.

        :raises ValueError: no directory is given, here or in the configuration, or nothing opens its scheme.
        """
        parent = directory or self._directory
        if not parent:
            raise ValueError(
                f"where shall the savepoint of job {self._job_name!r} go? Give a directory, or set "
                f"{SAVEPOINT_DIRECTORY}"
            )
        name = f"savepoint-{self._job_id[:6]}-{uuid.uuid4().hex[:12]}"
        request = SavepointRequest(open_folder(absolute(parent)).child(name).uri, stop, drain)
        with self._lock:
            if self._closed is not None:
                fail(request.answer, SavepointError(self._closed))
            else:
                self._waiting.append(request)
        return request.answer

    def next(self) -> SavepointRequest | None:
        """The request that the next epoch shall answer."""
        with self._lock:
            request = self._waiting.popleft() if self._waiting else None
        if request is not None and request.stop:
            self.last = request.uri
        return request

    def close(self, reason: str) -> None:
        """No epoch follows."""
        with self._lock:
            self._closed = reason
            waiting, self._waiting = list(self._waiting), deque()
        for request in waiting:
            fail(request.answer, SavepointError(reason))


def answer(request: SavepointRequest, coordinator: Coordinator, result: EpochResult) -> None:
    """The epoch is complete: with the metadata there is a savepoint."""
    cause = result.not_saved
    if cause is None and coordinator.checkpoints is not None and result.checkpoint is None:
        cause = "the checkpoint that it belongs to could not be recorded"
    if cause is None:
        try:
            snapshot = coordinator.snapshot(result.epoch)
            write_metadata(open_folder(request.uri), savepoint_metadata(snapshot, saved_operators(result.saved)))
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
    if cause is not None:
        coordinator.not_saved(cause)
        _refuse(request, cause)
        return
    coordinator.saved(result, request.uri)
    if request.stop:
        coordinator.suspend()
    succeed(request.answer, request.uri)


def failed(request: SavepointRequest, coordinator: Coordinator, error: BaseException) -> None:
    """The epoch failed that should have answered."""
    if request.drain:
        coordinator.keep_running()
    _refuse(request, f"the epoch failed ({reason(error)})")


def _refuse(request: SavepointRequest, cause: str) -> None:
    with contextlib.suppress(Exception):
        open_folder(request.uri).delete_tree()
    fail(request.answer, SavepointError(f"no savepoint at {request.uri}: {cause}"))
