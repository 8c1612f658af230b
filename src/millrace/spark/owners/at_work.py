"""Which threads of this process run which tasks at this moment, for those who look at what they do."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from millrace.runtime.tasks import progress
from millrace.spark.owners.frames import Positions, Request, Sampled, Stacks, TaskId, TaskPosition, Told
from millrace.spark.owners.whereabouts import worker_report
from millrace.util.stacks import Thread, place_in, sample, stack, stacks

_threads: dict[int, Thread[TaskId]] = {}
"""identifier of a thread -> its task"""


@contextmanager
def at_work(task: TaskId) -> Iterator[None]:
    """This thread runs the task meanwhile."""
    ident = threading.get_ident()
    progress.rests()
    _threads[ident] = Thread(task, threading.get_native_id())
    try:
        yield
    finally:
        _threads.pop(ident, None)
        progress.rests()


def tell(request: Request) -> Told:
    """What this process knows of its threads; sampling takes as long as it is to take."""
    worker = worker_report()
    if isinstance(request, Stacks):
        return Told(worker.host, worker.executor, worker.pid, stacks=tuple((s.name, s.text) for s in stacks()))
    if isinstance(request, Positions):
        positions = tuple(
            _position(ident, thread.label, request.stacks) for ident, thread in list(_threads.items())
        )
        return Told(worker.host, worker.executor, worker.pid, positions=positions)
    wanted = frozenset(request.tasks)
    found = sample(lambda: _running(wanted), request.seconds, request.hertz, _is_below_tasks)
    samples = tuple(Sampled(*seen, count) for seen, count in found.items())
    return Told(worker.host, worker.executor, worker.pid, samples=samples)


def _running(wanted: Iterable[TaskId]) -> dict[int, Thread[TaskId]]:
    return {ident: thread for ident, thread in list(_threads.items()) if thread.label in wanted}


def _position(ident: int, task: TaskId, with_stack: bool) -> TaskPosition:
    running = progress.running_on(ident)
    # The place first: when the thread comes to the next piece meanwhile, the steps tell.
    place = place_in(ident, _is_ours)
    at = progress.Position(0) if running is None else running.position()
    return TaskPosition(task, at.steps, place, *at[1:], stack=stack(ident) if with_stack else "")


def _is_ours(module: str) -> bool:
    """Where loops over elements are, none of which waits for anything."""
    return module.startswith(("millrace.runtime.", "millrace.relational."))


def _is_below_tasks(module: str) -> bool:
    return module.startswith(("threading", "millrace.spark."))
