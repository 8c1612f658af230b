"""Questions about the keyed state of a running job: the next epoch answers them."""

from __future__ import annotations

import difflib
import itertools
import pickle
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from millrace.runtime.coordination.coordinator import Coordinator, EpochResult
from millrace.runtime.exchange.keygroups import stable_hash
from millrace.runtime.jobs.job import OperatorInfo
from millrace.runtime.protocol.epoch import StateQuery
from millrace.spark.jobs.futures import fail, succeed


class StateQueryError(Exception):
    """The question cannot be answered; the text says why, and what could be asked."""


class Queries:
    """The questions that wait for the end of an epoch."""

    def __init__(self, coordinator: Coordinator, asked: Callable[[], object] = bool) -> None:
        """:param asked: is called after each question."""
        self._asked = asked
        self._coordinator = coordinator
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[StateQuery, Future[Any]]] = {}
        self._closed: str | None = None

    def ask(self, operator: str, state: str, key: Any) -> Future[Any]:
        """What ``state`` holds for ``key`` at the end of the next epoch; None for nothing.

        :raises StateQueryError: the job has no such operator or state, or is over.
        :raises TypeError: nothing could be a key of that type.
        """
        info = self._operator(operator)
        known = [info.name for info in self._coordinator.states.get(info.uid, ()) if info.type is not None]
        if known and state not in known:
            raise StateQueryError(f"operator {operator!r} has no state {state!r}{_nearest(state, known)}")
        stable_hash(key)
        future: Future[Any] = Future()
        with self._lock:
            if self._closed is not None:
                raise StateQueryError(self._closed)
            number = next(self._numbers)
            self._waiting[number] = (StateQuery(number, info.uid, state, key), future)
        self._asked()
        return future

    def _operator(self, name: str) -> OperatorInfo:
        operators = self._coordinator.job.operators
        found = [info for info in operators if info.uid == name] or [info for info in operators if info.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            uids = ", ".join(info.uid for info in found)
            raise StateQueryError(f"{len(found)} operators have the name {name!r}: give one of their uids ({uids})")
        raise StateQueryError(f"no operator has the uid or name {name!r}{_nearest(name, [o.name for o in operators])}")

    def waiting(self) -> tuple[StateQuery, ...]:
        """What the next epoch shall answer."""
        with self._lock:
            return tuple(query for query, _ in self._waiting.values())

    def answered(self, queries: Iterable[StateQuery], result: EpochResult) -> None:
        """The epoch is complete."""
        for query in queries:
            with self._lock:
                _, future = self._waiting.pop(query.number)
            payload = result.answers.get(query.number)
            succeed(future, None if payload is None else pickle.loads(payload))

    def close(self, reason: str) -> None:
        """No epoch follows."""
        with self._lock:
            self._closed = reason
            waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            fail(future, StateQueryError(reason))


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, known, 3) or known[:10]
    return f"; there is {', '.join(map(repr, near))}" if near else ""
