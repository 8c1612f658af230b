"""SIGUSR1: a savepoint of the jobs that ``millrace run`` runs."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from millrace.cli.supervisor import SAVEPOINT
from millrace.runtime.failure import describe

if TYPE_CHECKING:
    from millrace.cli.jobs import Jobs


@contextlib.contextmanager
def savepoints_on_signal(jobs: Jobs, say: Callable[[str], None]) -> Iterator[None]:
    """Inside, the signal takes a savepoint of each running job into the configured directory, and says its path.

    A signal that comes while savepoints are being taken asks for the same ones.
    """
    if SAVEPOINT is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler may interrupt anything: this queue is made to be used there, and the work is done elsewhere.
    requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(requests, jobs, say), name="millrace-savepoints", daemon=True).start()
    before = signal.signal(SAVEPOINT, lambda *_: requests.put(True))
    try:
        yield
    finally:
        signal.signal(SAVEPOINT, before)
        requests.put(False)


def _serve(requests: queue.SimpleQueue[bool], jobs: Jobs, say: Callable[[str], None]) -> None:
    while requests.get():
        _take_savepoints(jobs, say)
        while not requests.empty():
            if not requests.get():
                return


def _take_savepoints(jobs: Jobs, say: Callable[[str], None]) -> None:
    running = jobs.running()
    if not running:
        say("no savepoint: no job is running")
    for client in running:
        name = f"job {client.get_job_id()}"
        try:
            say(f"savepoint of {name}: {client.trigger_savepoint().result()}")
        except Exception as error:
            say(f"no savepoint of {name}: {describe(error)}")
