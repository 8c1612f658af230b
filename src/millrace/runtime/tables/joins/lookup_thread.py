"""A thread that queries an external table, so that the task can stop waiting when a query hangs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from millrace.util.threads import JobThread

CLOSING_SECONDS = 10.0


class LookupThread:
    """Runs one call after the other, all in the same thread, because connections need that. A call that hangs blocks
    only this thread, which ends with the process.

    :param seconds: time limit of a call (s).
    :param what: name of the table, for the error.
    """

    def __init__(self, seconds: float, what: str) -> None:
        self._seconds = seconds
        self._what = what
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread = JobThread(target=self._run, name=f"look-ups of {what}", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``.

        :raises TimeoutError: it takes too long.
        """
        future: Future[Any] = Future()
        self._calls.put((future, work))
        if not _ends(future, self._seconds):
            raise TimeoutError(
                f"the rows of keys of {self._what} did not come within {self._seconds:g} s ('timeout' of the LOOKUP "
                f"hint, or table.exec.async-lookup.timeout)"
            )
        return future.result()

    def close(self, work: Callable[[], Any]) -> None:
        """Run ``work`` as the last call, and wait for it for a limited time."""
        future: Future[Any] = Future()
        self._calls.put((future, work))
        self._calls.put(None)
        if _ends(future, CLOSING_SECONDS):
            future.result()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            future, work = call
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)


def _ends(future: Future[Any], seconds: float) -> bool:
    ended = threading.Event()
    future.add_done_callback(lambda _: ended.set())
    return ended.wait(seconds)
