"""A job of Spark that stays, seen from the driver: it holds the places, and the driver has connections to the tasks."""

from __future__ import annotations

import contextlib
import socket
import threading

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.util import InheritableThread

from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import TaskAck
from millrace.spark.owners.pipe import OwnerLostError
from millrace.spark.resident.reception import Reception
from millrace.spark.resident.rounds import Rounds, described

END_SECONDS = 2.0
"""How long Spark's tasks have to leave by themselves: one may hang in a function."""


class Residency:
    """From the start of its tasks until one of them fails, or it is ended.

    :param posts: the plan whose tasks connect to ``reception``.
    :param tag: by which Spark's job is cancelled.
    """

    def __init__(
        self, context: SparkContext, job: JobGraph, reception: Reception, posts: DataFrame, tag: str
    ) -> None:
        self._context = context
        self._job = job
        self._reception = reception
        self._tag = tag
        self._lock = threading.Lock()
        self._links: list[socket.socket] = []
        self._rounds: Rounds | None = None
        self._over = False
        self._error: BaseException | None = None
        """what Spark's job has failed with"""
        self._thread = InheritableThread(target=self._stay, args=(posts,), name="millrace-residency", daemon=True)
        self._thread.start()

    def _stay(self, posts: DataFrame) -> None:
        """On a thread of its own: Spark's job, from its first task to its last."""
        self._context.addJobTag(self._tag)
        try:
            posts.collect()
        except BaseException as error:
            self._error = error
        finally:
            with contextlib.suppress(Exception):  # the JVM may be gone
                self._context.removeJobTag(self._tag)
            self.break_off()

    def holds(self) -> bool:
        """Whether all tasks are there, or on their way."""
        with self._lock:
            over = self._over
        return not over and (self._rounds is None or self._rounds.intact())

    def run(self, run: int, text: str) -> list[TaskAck]:
        """One epoch, see ``Rounds.run``.

        :raises OwnerLostError: a task has not come to its end. Whatever Spark raised, if its job has failed.
        """
        try:
            if self._rounds is None:
                self._rounds = Rounds(self._job, self._arrived())
            return self._rounds.run(run, text)
        except OwnerLostError:
            if self._error is not None:
                raise self._error from None
            raise

    def _arrived(self) -> dict[tuple[int, int], socket.socket]:
        links = self._reception.wait()
        if links is None:
            raise OwnerLostError("Spark's job that holds the places of the tasks has ended")
        with self._lock:
            self._links = list(links.values())
            if self._over:
                _shut(self._links)
        return links

    def waits_for(self) -> str:
        """What an epoch waits for, in words."""
        if self._rounds is None:
            return f"Spark to start {described(self._reception.missing)}"
        return described(self._rounds.pending)

    def break_off(self) -> None:
        """Let those raise that wait for a task; to be called from any thread."""
        with self._lock:
            self._over = True
            _shut(self._links)
        self._reception.close()

    def end(self) -> None:
        """Let the tasks leave; those that do not are cancelled."""
        self.break_off()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self._context.cancelJobsWithTag(self._tag)
        for link in self._links:
            link.close()


def _shut(links: list[socket.socket]) -> None:
    for link in links:
        with contextlib.suppress(OSError):
            link.shutdown(socket.SHUT_RDWR)
