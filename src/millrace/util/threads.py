"""Threads and pools that work for the job of the thread that starts them.

What belongs to one job and is needed far below it, as the credentials of object stores, is in context variables, which
are set where the job runs. Python's own threads begin with none of them.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_this_context(function: Callable[P, T]) -> Callable[P, T]:
    """A function that sees the context variables of the caller of this one, whichever thread runs it. It runs once at
    a time."""
    context = contextvars.copy_context()

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.run(function, *args, **kwargs)

    return run


class JobThread(threading.Thread):
    """A thread with the context variables of the thread that made it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._context_of_job = contextvars.copy_context()

    def run(self) -> None:
        self._context_of_job.run(super().run)


class JobPool(ThreadPoolExecutor):
    """A pool whose calls have the context variables of the thread that submits them."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return super().submit(in_this_context(fn), *args, **kwargs)
