"""What has been computed of a document, as long as it is the same document: jobs that have ended cost nothing."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from millrace.cluster.documents.job import JobDocument

T = TypeVar("T")
"""Type of what is computed."""


class Remembered:
    """Results by purpose and job; documents themselves are not kept."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[weakref.ref[JobDocument], Any]] = OrderedDict()

    def of(self, purpose: str, job: JobDocument, compute: Callable[[JobDocument], T]) -> T:
        """What ``compute`` gives for a job."""
        key = purpose, job.id
        known = self._known.get(key)
        if known is not None and known[0]() is job:
            result: T = known[1]
            return result
        result = compute(job)
        with self._lock:
            self._known[key] = weakref.ref(job), result
            self._known.move_to_end(key)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return result
