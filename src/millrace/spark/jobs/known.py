"""The jobs of this process that run, and who wants to hear of them."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from millrace.spark.jobs.client import LocalJobClient

logger = logging.getLogger("millrace")


class JobWatcher(Protocol):
    """Hears of jobs: on the thread that starts them, and at their end on their own, so answers must be quick."""

    def begun(self, client: LocalJobClient) -> None: ...

    def ended(self, client: LocalJobClient) -> None:
        """All about it is settled, but its client still waits."""


_lock = threading.Lock()
_running: dict[str, LocalJobClient] = {}
_watchers: list[JobWatcher] = []


def watch(watcher: JobWatcher) -> None:
    """Let it hear of all jobs: those that run already, and those that will."""
    with _lock:
        _watchers.append(watcher)
        running = list(_running.values())
    for client in running:
        _tell(watcher, client, over=False)


def begun(client: LocalJobClient) -> None:
    """A job is about to start."""
    with _lock:
        _running[str(client.get_job_id())] = client
        watchers = list(_watchers)
    for watcher in watchers:
        _tell(watcher, client, over=False)


def ended(client: LocalJobClient) -> None:
    """A job is over."""
    with _lock:
        _running.pop(str(client.get_job_id()), None)
        watchers = list(_watchers)
    for watcher in watchers:
        _tell(watcher, client, over=True)


def _tell(watcher: JobWatcher, client: LocalJobClient, over: bool) -> None:
    """Whatever goes wrong there is nothing to fail a job for."""
    try:
        (watcher.ended if over else watcher.begun)(client)
    except Exception:
        logger.exception("the figures of job %s could not be published", client.get_job_id())
