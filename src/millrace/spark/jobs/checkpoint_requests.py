"""Checkpoints that a user asks for: requests from any thread, all of which the next epoch answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from millrace.runtime.coordination.coordinator import Coordinator, EpochResult, Trigger
from millrace.spark.errors import reason
from millrace.spark.jobs.futures import fail, succeed


class CheckpointError(Exception):
    """A checkpoint was not taken; the text says why."""


@dataclass(frozen=True)
class Taken:
    """The requests that one epoch answers."""

    trigger: Trigger | None
    """None: there are none"""
    answers: tuple[Future[int], ...]

    def answer(self, result: EpochResult) -> None:
        """The epoch is complete."""
        for future in self.answers:
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
        self._closed: str | None = None

    def ask(self, full: bool) -> Future[int]:
        """The number of a checkpoint, when it is there. The future raises ``CheckpointError`` if it fails.

        :param full: all tasks write their whole state.
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
        with self._lock:
            waiting, self._waiting = self._waiting, []
        trigger = None
        if waiting:
            trigger = Trigger.FULL if any(full for full, _ in waiting) else Trigger.INCREMENTAL
        taken = Taken(trigger, tuple(future for _, future in waiting))
        try:
            yield taken
        except BaseException as error:
            for future in taken.answers:
                fail(future, CheckpointError(f"no checkpoint: the epoch failed ({reason(error)})"))
            raise

    def close(self, over: str) -> None:
        """No epoch follows."""
        with self._lock:
            self._closed = over
            waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            fail(future, CheckpointError(over))
