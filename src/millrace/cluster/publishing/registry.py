"""The jobs of this process as others see them: those that run, and the last ones that have ended."""

from __future__ import annotations

import threading
from collections import OrderedDict

from millrace.cluster.publishing.control import LocalControl
from millrace.spark.jobs import known
from millrace.spark.jobs.client import LocalJobClient

ENDED = 100
"""Jobs that are remembered after their end, with their last document and nothing else."""


class Registry:
    """Hears of jobs from ``spark/jobs/known.py``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, LocalControl] = {}
        self._over: OrderedDict[str, LocalControl] = OrderedDict()

    def begun(self, client: LocalJobClient) -> None:
        """A job is about to start. One that its driver begins again has the id that it had."""
        control = LocalControl(client)
        with self._lock:
            self._over.pop(control.id, None)
            self._running[control.id] = control

    def ended(self, client: LocalJobClient) -> None:
        """A job is over: keep its last document, and let go of all else."""
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
        """Running ones first, then those that have ended, the last one first."""
        with self._lock:
            return [*self._running.values(), *reversed(self._over.values())]


_lock = threading.Lock()
_registry: Registry | None = None


def published_jobs() -> list[LocalControl]:
    """The jobs of this process: those that ran at the first call, and all that have begun since. Running ones first."""
    global _registry
    with _lock:
        if _registry is None:
            registry = Registry()
            known.watch(registry)
            _registry = registry
        return _registry.jobs()
