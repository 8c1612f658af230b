"""Requests to a running job, from any thread, which the next epoch answers: checkpoints, savepoints, queries of state.

The next epoch answers all requests for checkpoints and all queries of keyed state, and one savepoint. A future may have
been cancelled meanwhile, which is no reason to fail the job.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import pickle
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import saved_operators, savepoint_metadata, write_metadata
from millrace.common.files.file_systems import absolute
from millrace.runtime.bases.epoch_protocol import StateQuery
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult, TakenSavepoint, Trigger
from millrace.runtime.exchange.keys import stable_hash
from millrace.runtime.operators.job_graph import OperatorInfo
from millrace.spark.errors import reason

T = TypeVar("T")
"""Type of the result."""


def succeed(future: Future[T], result: T) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_result(result)


def fail(future: Future[T], error: BaseException) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_exception(error)


# Checkpoints


class CheckpointError(Exception):
    """A checkpoint was not taken; the text says why."""


@dataclass(frozen=True)
class Taken:
    """The requests that one epoch answers."""

    trigger: Trigger | None
    """the trigger of the checkpoint that the epoch takes; None: no checkpoint was asked for"""
    answers: tuple[Future[int], ...]
    """requests that the epoch's checkpoint answers"""
    full: tuple[Future[int], ...]
    """requests that it answers if no whole state is left to be made from files"""
    wait: Callable[[Iterable[Future[int]]], bool]
    """takes requests that have to wait for whole states; False: they need not"""

    def answer(self, result: EpochResult) -> None:
        """The epoch is complete."""
        for future in self.answers if self.wait(self.full) else (*self.answers, *self.full):
            if result.checkpoint is not None:
                succeed(future, result.epoch)
            else:
                fail(future, CheckpointError(f"checkpoint {result.epoch} could not be recorded"))


class CheckpointRequests:
    """The requests that wait for the end of an epoch."""

    def __init__(self, coordinator: Coordinator, batch: bool, asked: Callable[[], object] = bool) -> None:
        """:param asked: is called when a checkpoint is asked for."""
        self._coordinator = coordinator
        self._batch = batch
        self._asked = asked
        self._lock = threading.Lock()
        self._waiting: list[tuple[bool, Future[int]]] = []
        self._whole: list[Future[int]] = []
        """requests whose whole states are made from files; the first epoch after those are there answers"""
        self._closed: str | None = None

    def ask(self, full: bool) -> Future[int]:
        """The number of a checkpoint, when it is there. The future raises ``CheckpointError`` if it fails.

        :param full: it needs no file from before the request. Large whole states are made while later epochs run, and
            the checkpoint is that of the first epoch that ends when all are there.
        :raises ValueError: the job has no checkpoints.
        """
        name = self._coordinator.job.name
        if self._batch:
            raise ValueError(f"job {name!r} runs in batch mode, which has no checkpoints: use streaming mode")
        if self._coordinator.checkpoints is None:
            raise ValueError(f"job {name!r} runs without checkpoints: set execution.checkpointing.interval")
        future: Future[int] = Future()
        with self._lock:
            if self._closed is not None:
                fail(future, CheckpointError(self._closed))
            else:
                self._waiting.append((full, future))
        self._asked()
        return future

    @contextmanager
    def taken(self) -> Iterator[Taken]:
        """All that wait, for one epoch; if that fails, so do they."""
        compactions = self._coordinator.compactions
        with self._lock:
            waiting, self._waiting = self._waiting, []
            answers = [future for full, future in waiting if not full]
            full = [future for full, future in waiting if full]
            if not compactions.asked:
                answers += self._whole
                self._whole = []
        trigger = Trigger.INCREMENTAL if answers else None
        taken = Taken(Trigger.FULL if full else trigger, tuple(answers), tuple(full), self._wait)
        try:
            yield taken
        except BaseException as error:
            for future in (*taken.answers, *taken.full):
                fail(future, CheckpointError(f"no checkpoint: the epoch failed ({reason(error)})"))
            raise

    def _wait(self, full: Iterable[Future[int]]) -> bool:
        waits = self._coordinator.compactions.asked
        if waits:
            with self._lock:
                self._whole += full
        return waits

    def close(self, over: str) -> None:
        """No epoch follows."""
        with self._lock:
            self._closed = over
            waiting = [*(future for _, future in self._waiting), *self._whole]
            self._waiting, self._whole = [], []
        for future in waiting:
            fail(future, CheckpointError(over))


# Savepoints

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


class BegunSavepoint:
    """A savepoint whose epoch is complete. Parts of it may still be written while later epochs run; with its metadata
    it is there. The thread that drives the job calls all methods."""

    def __init__(self, request: SavepointRequest, coordinator: Coordinator, result: EpochResult) -> None:
        self.request = request
        self._coordinator, self._result = coordinator, result
        self._pending = coordinator.log.set_aside()
        self._taken: TakenSavepoint | None = None
        self._cause = result.not_saved
        if self._cause is None and coordinator.checkpoints is not None and result.checkpoint is None:
            self._cause = "the checkpoint that it belongs to could not be recorded"
        if self._cause is None:
            try:
                self._taken = coordinator.taken(result)
            except Exception as error:
                self._cause = f"{type(error).__name__}: {error}"

    @property
    def done(self) -> bool:
        """Whether all its parts are written, or it has failed."""
        saving = self._result.saving
        return saving is None or saving.done

    def finish(self) -> None:
        """Complete it, and answer the request; waits for the parts that are left."""
        coordinator, request, result = self._coordinator, self.request, self._result
        taken, parts = self._taken, list(result.saved)
        try:
            parts += () if result.saving is None else result.saving.saved()
            if taken is not None:
                metadata = savepoint_metadata(taken.snapshot, saved_operators(parts))
                write_metadata(open_folder(request.uri), metadata)
        except Exception as error:
            self._cause = self._cause or f"{type(error).__name__}: {error}"
        if taken is None or self._cause is not None:
            self.fail(self._cause or "")
            return
        coordinator.saved(taken, self._pending, parts, request.uri)
        if request.stop:
            coordinator.suspend()
        succeed(request.answer, request.uri)

    def fail(self, cause: str) -> None:
        """Give it up."""
        self._coordinator.not_saved(self._pending, cause)
        _refuse(self.request, cause)


def failed(request: SavepointRequest, coordinator: Coordinator, error: BaseException) -> None:
    """The epoch failed that should have answered."""
    if request.drain:
        coordinator.keep_running()
    _refuse(request, f"the epoch failed ({reason(error)})")


def _refuse(request: SavepointRequest, cause: str) -> None:
    with contextlib.suppress(Exception):
        open_folder(request.uri).delete_tree()
    fail(request.answer, SavepointError(f"no savepoint at {request.uri}: {cause}"))


# Queries of keyed state


class StateQueryError(Exception):
    """The question cannot be answered; the text says why, and what could be asked."""


class Queries:
    """The questions that wait for the end of an epoch."""

    def __init__(self, coordinator: Coordinator, asked: Callable[[], object] = bool) -> None:
        """:param asked: is called after each question."""
        self._asked = asked
        self._coordinator = coordinator
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[StateQuery, Future[Any]]] = {}
        self._closed: str | None = None

    def ask(self, operator: str, state: str, key: Any) -> Future[Any]:
        """What ``state`` holds for ``key`` at the end of the next epoch; None for nothing.

        :raises StateQueryError: the job has no such operator or state, or is over.
        :raises TypeError: nothing could be a key of that type.
        """
        info = self._operator(operator)
        known = [info.name for info in self._coordinator.states.get(info.uid, ()) if info.type is not None]
        if known and state not in known:
            raise StateQueryError(f"operator {operator!r} has no state {state!r}{_nearest(state, known)}")
        stable_hash(key)
        future: Future[Any] = Future()
        with self._lock:
            if self._closed is not None:
                raise StateQueryError(self._closed)
            number = next(self._numbers)
            self._waiting[number] = (StateQuery(number, info.uid, state, key), future)
        self._asked()
        return future

    def _operator(self, name: str) -> OperatorInfo:
        operators = self._coordinator.job.operators
        found = [info for info in operators if info.uid == name] or [info for info in operators if info.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            uids = ", ".join(info.uid for info in found)
            raise StateQueryError(f"{len(found)} operators have the name {name!r}: give one of their uids ({uids})")
        raise StateQueryError(f"no operator has the uid or name {name!r}{_nearest(name, [o.name for o in operators])}")

    def waiting(self) -> tuple[StateQuery, ...]:
        """What the next epoch shall answer."""
        with self._lock:
            return tuple(query for query, _ in self._waiting.values())

    def answered(self, queries: Iterable[StateQuery], result: EpochResult) -> None:
        """The epoch is complete."""
        for query in queries:
            with self._lock:
                _, future = self._waiting.pop(query.number)
            payload = result.answers.get(query.number)
            succeed(future, None if payload is None else pickle.loads(payload))

    def close(self, reason: str) -> None:
        """No epoch follows."""
        with self._lock:
            self._closed = reason
            waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            fail(future, StateQueryError(reason))


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, known, 3) or known[:10]
    return f"; there is {', '.join(map(repr, near))}" if near else ""
