"""Statements on a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

from millrace.graph.origin import user_origin

T = TypeVar("T")
"""What the work gives."""

_LOOK_SECONDS = 1.0
"""A Ctrl-C that comes right before a thread falls asleep does not wake it: so it never sleeps for long."""


class Worker:
    """Does one work after the other on one thread. Ctrl-C comes to the main thread, and there it would cut off a call
    to Spark in the middle, which spoils the connection to the JVM. It is always the same thread, since Spark knows its
    session by the thread.
    """

    def __init__(self) -> None:
        self._works: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="millrace-sql", daemon=True)
        self.origin: str | None = None
        """what errors name as the user's line: the place in Python where this thread begins"""

    def _loop(self) -> None:
        self.origin = user_origin()
        while True:
            _do(*self._works.get())

    def do(self, work: Callable[[], T], abandon: Callable[[T], None]) -> T:
        """Do a work, which is to end soon, and wait for it.

        :param abandon: takes back what the work has given after Ctrl-C.
        :raises KeyboardInterrupt: Ctrl-C, once the work has come to its end.
        """
        if self._thread.ident is None:
            self._thread.start()
        future: Future[T] = Future()
        self._works.put((work, future))
        try:
            while not future.done():
                wait([future], _LOOK_SECONDS)
        except KeyboardInterrupt:
            while not future.done():
                wait([future], _LOOK_SECONDS)
            if future.exception() is None:
                abandon(future.result())
            raise
        return future.result()


def _do(work: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
