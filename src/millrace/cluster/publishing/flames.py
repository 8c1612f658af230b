"""Flame graphs of vertices, and threads of workers: what the owners of a job tell of their threads, put together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from millrace.cluster.documents.threads import FrameDocument, ThreadDocument
from millrace.runtime.jobs.vertices import Vertex
from millrace.spark.jobs.runner import JobRunner
from millrace.spark.owners.frames import Sampled, Sampling, Stacks, TaskId

SECONDS = 2.0
HERTZ = 100
FRESH_SECONDS = 10.0
"""How long samples serve for all graphs of a vertex."""
MODES = {"full": (True, False), "on_cpu": (True,), "off_cpu": (False,)}
"""Mode -> which samples count: those at work, those that waited"""


class Flames:
    """The samples of one job."""

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
        with lock:  # who comes meanwhile gets the same samples
            at, samples = self._samples.get(vertex.id, (float("-inf"), []))
            if time.monotonic() - at > FRESH_SECONDS:
                told = runner.look(Sampling(SECONDS, HERTZ, tuple(_tasks(vertex))))
                samples = [sampled for each in told for sampled in each.samples]
                self._samples[vertex.id] = (time.monotonic(), samples)
            return samples


def _tasks(vertex: Vertex) -> Iterable[TaskId]:
    return ((vertex.stage, vertex.offset + index) for index in range(vertex.parallelism))


class _Node:
    """A frame while the graph grows."""

    def __init__(self) -> None:
        self.value = 0
        self.children: dict[str, _Node] = {}


def flame_graph(samples: Iterable[Sampled]) -> FrameDocument:
    """The stacks as a tree, each frame with how often it was seen."""
    root = _Node()
    for sampled in samples:
        node = root
        node.value += sampled.count
        for frame in sampled.frames:
            node = node.children.setdefault(frame, _Node())
            node.value += sampled.count
    return _frozen("root", root)


def _frozen(name: str, root: _Node) -> FrameDocument:
    """Without recursion: a user's stack may be deep."""
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
    """The threads of a job's processes on an executor."""
    return [
        ThreadDocument(f"{name} (process {told.pid})", text)
        for told in runner.look(Stacks())
        if told.executor == executor
        for name, text in told.stacks
    ]
