"""Makes the jobs of this process visible to and steerable by other processes.

``published_jobs()`` gives a ``LocalControl`` for each running job and for the last ended ones, with their documents.
Flame graphs are made of samples that the job's owners take of their threads.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from millrace.cluster.control import JobOverError
from millrace.cluster.documents import FrameDocument, JobDocument, ThreadDocument
from millrace.cluster.job_documents import batch_document, job_document
from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.runtime.operators.job_graph import Vertex
from millrace.spark.jobs.client import LocalJobClient, watch
from millrace.spark.jobs.runner import JobRunner
from millrace.spark.jobs.submit import SparkJobClient
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.workers.frames import Sampled, Sampling, Stacks, TaskId
from millrace.util.tracebacks import stacks

__all__ = ["LocalControl", "published_jobs"]


# Flame graphs

SECONDS = 2.0
HERTZ = 100
FLAMES_FRESH_SECONDS = 10.0
"""How long the samples of a vertex are used for its graphs."""
MODES = {"full": (True, False), "on_cpu": (True,), "off_cpu": (False,)}
"""Mode of a flame graph -> kinds of samples that count: at work (True), waiting (False)"""


class Flames:
    """Samples the threads of one job for its flame graphs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._samples: dict[str, tuple[float, list[Sampled]]] = {}

    def graph(self, runner: JobRunner | None, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        """:param runner: None: the job does not run here.

        :raises ValueError: there is no such mode.
        """
        if mode not in MODES:
            raise ValueError(f"a flame graph is {', '.join(MODES)}, not {mode!r}")
        found = None if runner is None else next((v for v in runner.job.vertices if v.id == vertex), None)
        if runner is None or found is None:
            return FrameDocument("root", 0)
        tasks = set(_tasks(found) if subtask is None else [(found.stage, found.offset + subtask)])
        samples = self._of(runner, found)
        return flame_graph(each for each in samples if each.task in tasks and each.on_cpu in MODES[mode])

    def _of(self, runner: JobRunner, vertex: Vertex) -> list[Sampled]:
        with self._lock:
            lock = self._locks.setdefault(vertex.id, threading.Lock())
        with lock:  # concurrent requests share the samples
            at, samples = self._samples.get(vertex.id, (float("-inf"), []))
            if time.monotonic() - at > FLAMES_FRESH_SECONDS:
                told = runner.look(Sampling(SECONDS, HERTZ, tuple(_tasks(vertex))))
                samples = [sampled for each in told for sampled in each.samples]
                self._samples[vertex.id] = (time.monotonic(), samples)
            return samples


def _tasks(vertex: Vertex) -> Iterable[TaskId]:
    return ((vertex.stage, vertex.offset + index) for index in range(vertex.parallelism))


class _Node:
    """A frame of a flame graph that is being built."""

    def __init__(self) -> None:
        self.value = 0
        self.children: dict[str, _Node] = {}


def flame_graph(samples: Iterable[Sampled]) -> FrameDocument:
    """Merge stacks to a tree: each frame with the number of samples that contain it."""
    root = _Node()
    for sampled in samples:
        node = root
        node.value += sampled.count
        for frame in sampled.frames:
            node = node.children.setdefault(frame, _Node())
            node.value += sampled.count
    return _frozen("root", root)


def _frozen(name: str, root: _Node) -> FrameDocument:
    """The finished tree, built without recursion: a user's stack may be deep."""
    made: dict[int, FrameDocument] = {}
    waiting = [(name, root, False)]
    while waiting:
        name, node, ready = waiting.pop()
        if ready:
            children = tuple(made.pop(id(child)) for child in node.children.values())
            made[id(node)] = FrameDocument(name, node.value, children)
        else:
            waiting.append((name, node, True))
            waiting += [(called, child, False) for called, child in node.children.items()]
    return made[id(root)]


def worker_threads(runner: JobRunner, executor: str) -> list[ThreadDocument]:
    """The threads of a job's Python processes on an executor."""
    return [
        ThreadDocument(f"{name} (process {told.pid})", text)
        for told in runner.look(Stacks())
        if told.executor == executor
        for name, text in told.stacks
    ]


# One job

T = TypeVar("T")
"""The result type of a future."""

FRESH_SECONDS = 0.5
"""Time for which a job's document is served from cache; doubled for a job with very many subtasks."""
MOST_SECONDS = 1.0


class LocalControl:
    """A ``JobControl`` over a job client of this process. All methods may be called from any thread."""

    def __init__(self, client: LocalJobClient) -> None:
        """:param client: a ``SparkJobClient`` or ``BatchJobClient``."""
        self.id = str(client.get_job_id())
        self._client: LocalJobClient | None = client
        self._flames = Flames()
        self._lock = threading.Lock()
        self._document: JobDocument | None = None
        self._serves_until = 0.0

    def document(self) -> JobDocument:
        """The job's document, at most half a second old."""
        with self._lock:
            client, document = self._client, self._document
            began = time.monotonic()
            if document is None or (client is not None and began > self._serves_until):
                assert client is not None, "a job that has ended has left its document"
                document = self._document = _describe(client)
                now = time.monotonic()
                self._serves_until = now + max(FRESH_SECONDS, min(10 * (now - began), MOST_SECONDS))
            return document

    def close(self) -> None:
        """Freeze the document of a job that has ended, and drop its client."""
        with self._lock:
            if self._client is not None:
                self._document = _describe(self._client)
                self._client = None

    def cancel(self) -> None:
        client = self._client
        status = JobStatus[self.document().state] if client is None else client.get_job_status().result()
        if status in (JobStatus.FINISHED, JobStatus.FAILED):
            raise self._over(status.name)
        if client is not None:
            client.cancel()

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._ask(lambda client: client.trigger_savepoint(directory))

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        return self._ask(lambda client: client.stop_with_savepoint(drain, directory))

    def checkpoint(self, full: bool) -> Future[int]:
        return self._ask(lambda client: _streaming(client, "checkpoints").checkpoint(full))

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        return self._ask(lambda client: _streaming(client, "state to ask for").query_state(operator, state, key))

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        """The threads of this process, or of the job's owners on an executor; empty for a job that does not run."""
        if task_manager is None:
            return [ThreadDocument(stack.name, stack.text) for stack in stacks()]
        client = self._client
        return worker_threads(client.runner, task_manager) if isinstance(client, SparkJobClient) else []

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        """Sample a vertex for two seconds; graphs that are requested soon after each other share their samples.

        :raises ValueError: there is no such mode.
        """
        client = self._client
        runner = client.runner if isinstance(client, SparkJobClient) else None
        return self._flames.graph(runner, vertex, subtask, mode)

    def _ask(self, ask: Callable[[LocalJobClient], CompletableFuture[T]]) -> Future[T]:
        """Ask the running job; the future holds the answer or the error."""
        client = self._client
        future: Future[T] = Future()
        try:
            if client is None:
                raise self._over(self.document().state)
            return ask(client).future()
        except Exception as error:
            future.set_exception(error)
            return future

    def _over(self, state: str) -> JobOverError:
        return JobOverError(f"job {self.document().name!r} ({self.id}) is {state}")


def _describe(client: LocalJobClient) -> JobDocument:
    if isinstance(client, SparkJobClient):
        return job_document(client.runner)
    assert isinstance(client, BatchJobClient), "there are no other kinds of jobs"
    return batch_document(client)


def _streaming(client: LocalJobClient, what: str) -> SparkJobClient:
    if not isinstance(client, SparkJobClient):
        raise ValueError(f"job {client.get_job_id()} is a query in batch mode, which has no {what}")
    return client


# All jobs of this process

ENDED = 100
"""Number of ended jobs that are remembered, each with its last document only."""


class Registry:
    """All jobs of this process; ``spark/jobs/client.py`` reports their begin and end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, LocalControl] = {}
        self._over: OrderedDict[str, LocalControl] = OrderedDict()

    def begun(self, client: LocalJobClient) -> None:
        """Register a job that is about to start. A job that its driver restarts has its earlier id."""
        control = LocalControl(client)
        with self._lock:
            self._over.pop(control.id, None)
            self._running[control.id] = control

    def ended(self, client: LocalJobClient) -> None:
        """Keep the last document of an ended job, and drop everything else."""
        id = str(client.get_job_id())
        with self._lock:
            control = self._running.get(id)
        if control is None:
            return
        described = False
        try:
            control.close()
            described = True
        finally:
            with self._lock:
                self._running.pop(id, None)
                if described:
                    self._over[id] = control
                while len(self._over) > ENDED:
                    self._over.popitem(last=False)

    def jobs(self) -> list[LocalControl]:
        """All jobs: running ones first, then ended ones, the last ended first."""
        with self._lock:
            return [*self._running.values(), *reversed(self._over.values())]


_lock = threading.Lock()
_registry: Registry | None = None


def _leave_to_parent() -> None:
    """Forget the jobs of the parent in a fork, which has none of their threads."""
    global _registry
    _registry = None
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_leave_to_parent)


def published_jobs() -> list[LocalControl]:
    """The jobs of this process: those that run at the first call and all later ones; running ones first."""
    global _registry
    with _lock:
        if _registry is None:
            registry = Registry()
            watch(registry)
            _registry = registry
        return _registry.jobs()
