"""Looks at tasks: where they run, what their processes use, and what their threads do at this moment.

``worker_report`` and ``at_work`` answer for their own process. ``look`` asks the owners on this machine; ``Looking``
does so on an executor, as a function of a Spark job whose rows bring the answers to the driver.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path

import pyarrow as pa

from millrace.runtime.bases.epoch_protocol import WorkerReport
from millrace.runtime.tasks import waiting
from millrace.spark.workers import processes
from millrace.spark.workers.frames import (
    Begun,
    Look,
    OwnerReport,
    Positions,
    Request,
    Sampled,
    Sampling,
    Stacks,
    TaskId,
    TaskPosition,
    receive,
    send,
)
from millrace.util.tracebacks import Thread, place_in, sample, stack, stacks

DRIVER = "driver"
"""The id that Spark gives to the executor of a local master."""
RECENT_SECONDS = 0.1
_EXECUTOR = re.compile(rb"--executor-id\x00([^\x00]+)\x00")
_GENERATIONS = 6
"""How many parents of a task's process are searched for its executor: worker or owner, keeper, daemon, JVM."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def worker_report() -> WorkerReport:
    """Measure this process now: its host, executor, process id, memory (bytes) and CPU time (ms)."""
    host, executor = _place()
    return WorkerReport(host, executor, os.getpid(), memory(os.getpid()), int(time.process_time() * 1000))


class _Recent:
    """What was seen of this process last: a thousand tasks that end an epoch together need not look each."""

    def __init__(self) -> None:
        self._seen = 0.0, 0, WorkerReport("", "", 0, 0, 0)

    def __call__(self) -> WorkerReport:
        at, process, report = self._seen
        now = time.monotonic()
        if process != os.getpid() or now >= at + RECENT_SECONDS:
            report = worker_report()
            self._seen = now, os.getpid(), report
        return report


recent_report = _Recent()
"""This process, a moment ago at most."""


@lru_cache(maxsize=1)
def _place() -> tuple[str, str]:
    return socket.gethostname(), executor_above(os.getpid())


def executor_above(process: int) -> str:
    """The id of the executor whose JVM is above a process, as its command line tells it."""
    for _ in range(_GENERATIONS):
        try:
            found = _EXECUTOR.search(Path(f"/proc/{process}/cmdline").read_bytes())
            if found is not None:
                return found[1].decode()
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        if process <= 1:
            break
    return DRIVER


def memory(process: int) -> int:
    """Bytes of memory that a process holds; -1: the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return -1


_threads: dict[int, Thread[TaskId]] = {}
"""identifier of a thread -> its task"""


@contextmanager
def at_work(task: TaskId) -> Iterator[None]:
    """Mark this thread as the one that runs the task, while the block runs."""
    ident = threading.get_ident()
    waiting.rests()
    _threads[ident] = Thread(task, threading.get_native_id())
    try:
        yield
    finally:
        _threads.pop(ident, None)
        waiting.rests()


def task_here() -> TaskId | None:
    """The task that this thread runs at this moment; None: none."""
    thread = _threads.get(threading.get_ident())
    return None if thread is None else thread.label


_turned: dict[int, TurnedTask] = {}
"""identity -> a task that runs in turns"""


class TurnedTask:
    """A task that runs in turns, on one thread or another. Between its turns it waits, at no place.

    :param progress: returns the progress of the task; None: it has none yet.
    """

    def __init__(self, task: TaskId, progress: Callable[[], waiting.Progress | None]) -> None:
        self.task = task
        self._progress = progress
        self.thread = 0
        """identifier of the thread that it has a turn on; 0: none"""
        _turned[id(self)] = self

    def begin(self) -> None:
        """A turn begins on this thread."""
        self.thread = ident = threading.get_ident()
        _threads[ident] = Thread(self.task, threading.get_native_id())

    def end(self) -> None:
        """The turn has ended."""
        _threads.pop(self.thread, None)
        self.thread = 0

    def close(self) -> None:
        """The task is over."""
        _turned.pop(id(self), None)

    def position(self, with_stack: bool) -> TaskPosition:
        """Where the task is at this moment."""
        progress, thread = self._progress(), self.thread
        place = place_in(thread, _is_ours) if thread else 0
        at = waiting.Position(0) if progress is None else progress.position()
        return TaskPosition(self.task, at.steps, place, *at[1:], stack=stack(thread) if with_stack and thread else "")


def _positions(with_stack: bool) -> Iterator[TaskPosition]:
    turned = list(_turned.values())
    on_threads = {each.thread for each in turned}
    for ident, thread in list(_threads.items()):
        if ident not in on_threads:
            yield _position(ident, thread.label, with_stack)
    for each in turned:
        yield each.position(with_stack)


def tell(request: Request) -> OwnerReport:
    """What this process knows of its threads; sampling takes as long as it is to take."""
    worker = worker_report()
    if isinstance(request, Stacks):
        return OwnerReport(worker.host, worker.executor, worker.pid, stacks=tuple((s.name, s.text) for s in stacks()))
    if isinstance(request, Positions):
        positions = tuple(_positions(request.stacks))
        return OwnerReport(worker.host, worker.executor, worker.pid, positions=positions)
    wanted = frozenset(request.tasks)
    found = sample(lambda: _running(wanted), request.seconds, request.hertz, _is_below_tasks)
    samples = tuple(Sampled(*seen, count) for seen, count in found.items())
    return OwnerReport(worker.host, worker.executor, worker.pid, samples=samples)


def _running(wanted: Iterable[TaskId]) -> dict[int, Thread[TaskId]]:
    return {ident: thread for ident, thread in list(_threads.items()) if thread.label in wanted}


def _position(ident: int, task: TaskId, with_stack: bool) -> TaskPosition:
    running = waiting.running_on(ident)
    # The place first: when the thread comes to the next piece meanwhile, the steps tell.
    place = place_in(ident, _is_ours)
    at = waiting.Position(0) if running is None else running.position()
    return TaskPosition(task, at.steps, place, *at[1:], stack=stack(ident) if with_stack else "")


def _is_ours(module: str) -> bool:
    """Where loops over elements are, none of which waits for anything."""
    return module.startswith(("millrace.runtime.", "millrace.relational."))


def _is_below_tasks(module: str) -> bool:
    return module.startswith(("threading", "millrace.spark.", "millrace.util.threads"))


PATIENCE_SECONDS = 10.0
"""How long an owner may take to answer, beyond the time that it is to look."""


def look(job_id: str, request: Request, patience: float = PATIENCE_SECONDS) -> list[OwnerReport]:
    """Ask owners for a report, all at the same time. Owners that do not answer in time are left out."""
    found = []
    with ExitStack() as connections:
        asked = [
            each for folder in processes.keepers() for each in _ask(folder, job_id, request, patience, connections)
        ]
        for connection in asked:
            connection.settimeout(patience + (request.seconds if isinstance(request, Sampling) else 0.0))
            with contextlib.suppress(OSError, EOFError):
                told, _ = receive(connection)
                assert isinstance(told, OwnerReport)
                found.append(told)
    return found


def _ask(
    folder: str, job_id: str, request: Request, patience: float, connections: ExitStack
) -> Iterator[socket.socket]:
    """A connection to each owner of the job that a keeper has, each of which has begun to look."""
    with contextlib.suppress(OSError, EOFError):
        for number in count():
            connection = connections.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(patience)
            connection.connect(os.path.join(folder, processes.SOCKET))
            send(connection, Look(job_id, number))
            send(connection, request)
            try:
                answer, _ = receive(connection)  # EOFError: there are no more
            except TimeoutError:
                continue  # a call that lets no other thread of its process run
            assert isinstance(answer, Begun)
            yield connection


SCHEMA = "told string"


@dataclass(frozen=True)
class Looking:
    """A function for ``mapInArrow``: one row for each owner that the machine has."""

    job_id: str
    request: Request

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        answers = [json.dumps(asdict(told)) for told in look(self.job_id, self.request)]
        yield pa.RecordBatch.from_arrays([pa.array(answers, type=pa.string())], ["told"])


def parse(text: str) -> OwnerReport:
    """Decode an answer from its row."""
    told = json.loads(text)
    samples = tuple(
        Sampled((each["task"][0], each["task"][1]), each["on_cpu"], tuple(each["frames"]), each["count"])
        for each in told["samples"]
    )
    threads = tuple((name, stack) for name, stack in told["stacks"])
    positions = tuple(
        TaskPosition(**{**each, "task": (each["task"][0], each["task"][1])}) for each in told["positions"]
    )
    return OwnerReport(told["host"], told["executor"], told["pid"], threads, samples, positions)
