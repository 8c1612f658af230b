"""Which threads of this process run which tasks at this moment, for those who look at what they do."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from millrace.spark.owners.frames import Sampled, Sampling, Stacks, TaskId, Told
from millrace.spark.owners.whereabouts import worker_report
from millrace.util.stacks import Thread, sample, stacks

_threads: dict[int, Thread[TaskId]] = {}
"""identifier of a thread -> its task"""


@contextmanager
def at_work(task: TaskId) -> Iterator[None]:
    """This thread runs the task meanwhile."""
    ident = threading.get_ident()
    _threads[ident] = Thread(task, threading.get_native_id())
    try:
        yield
    finally:
        _threads.pop(ident, None)


def tell(request: Stacks | Sampling) -> Told:
    """What this process knows of its threads; sampling takes as long as it is to take."""
    worker = worker_report()
    if isinstance(request, Stacks):
        return Told(worker.host, worker.executor, worker.pid, stacks=tuple((s.name, s.text) for s in stacks()))
    wanted = frozenset(request.tasks)
    found = sample(lambda: _running(wanted), request.seconds, request.hertz, _is_below_tasks)
    samples = tuple(Sampled(*seen, count) for seen, count in found.items())
    return Told(worker.host, worker.executor, worker.pid, samples=samples)


def _running(wanted: Iterable[TaskId]) -> dict[int, Thread[TaskId]]:
    return {ident: thread for ident, thread in list(_threads.items()) if thread.label in wanted}


def _is_below_tasks(module: str) -> bool:
    return module.startswith(("threading", "millrace.spark."))
