"""``BufferedSink``: what is written when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from millrace.common.sink import SinkWriter
from millrace.connectors.dbapi import Change
from millrace.connectors.stores import BufferedSink, Buffering, Reachable
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext


class Store:
    """Takes everything."""

    def close(self) -> None: ...


class Reached(Reachable):
    def __call__(self) -> Store:
        return Store()

    def is_passing(self, error: BaseException) -> bool:
        return False


@dataclass
class Keeping(Change[str]):
    """Keeps what it is given, call by call."""

    calls: list[Sequence[str]]

    def apply(self, connection: Any, elements: Sequence[str]) -> None:
        self.calls.append(list(elements))


def writer(clock: Clock, calls: list[Sequence[str]], buffering: Buffering) -> SinkWriter[str]:
    return BufferedSink(Reached(), Keeping(calls), buffering, len).create_writer(WriterContext(0, 1, 1, clock))


def write(to: SinkWriter[str], *elements: str) -> None:
    for element in elements:
        to.write(element, ElementContext())


def test_after_the_interval_without_another_element() -> None:
    clock, calls = Clock(), list[Sequence[str]]()
    to = writer(clock, calls, Buffering(interval=2.0))
    to.end_slice(clock.now + 60_000)
    write(to, "a", "b")
    to.end_slice(clock.now + 1_999)
    assert calls == []
    to.end_slice(clock.now + 2_000)
    to.end_slice(clock.now + 4_000)
    assert calls == [["a", "b"]]
    clock.now += 4_000
    write(to, "c")
    to.end_slice(clock.now + 1_999)
    assert len(calls) == 1, "the next one waits as long"
    to.flush(False)
    to.end_slice(clock.now + 4_000)
    assert calls == [["a", "b"], ["c"]]


def test_with_an_element_that_comes_later() -> None:
    clock, calls = Clock(), list[Sequence[str]]()
    to = writer(clock, calls, Buffering(interval=2.0))
    write(to, "a")
    clock.now += 2_000
    write(to, "b")
    assert calls == [["a", "b"]]


@pytest.mark.parametrize("buffering", [Buffering(max_rows=2, interval=0), Buffering(max_rows=0, interval=0)])
def test_without_an_interval_the_clock_writes_nothing(buffering: Buffering) -> None:
    clock, calls = Clock(), list[Sequence[str]]()
    to = writer(clock, calls, buffering)
    write(to, "a")
    to.end_slice(clock.now + 3_600_000)
    assert calls == []
    write(to, "b")
    assert calls == ([["a", "b"]] if buffering.max_rows else [])
