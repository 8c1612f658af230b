"""``SourceReaderBase``: a thread reads ahead within bounds, positions follow what was emitted, threads end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.source import InputStatus
from millrace.connectors.split_reader import Fetcher, SourceReaderBase, SplitBatch, SplitReader
from millrace.testing.connectors.runtime import Collected
from millrace.util import system


@dataclass(frozen=True)
class Counted:
    """The numbers from ``position`` to ``stop``."""

    split_id: str
    position: int
    stop: int


@dataclass
class Server:
    """What all split readers of a test see."""

    batch: int = 10
    fetched: int = 0
    closed: int = 0
    in_threads: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)
    fails_at: int | None = None


class CountingReader(SplitReader[int, Counted]):
    """Gives a batch of each of its splits in turn; waits when it has none."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.splits: list[Counted] = []
        self.woken = threading.Event()

    def handle_splits_changes(self, added: Sequence[Counted]) -> None:
        self.splits += added

    def fetch(self) -> list[SplitBatch[int, Counted]]:
        self.server.in_threads.add(threading.current_thread().name)
        free = [split for split in self.splits if split.split_id not in self.server.paused]
        if not free:
            self.woken.wait(10)
            self.woken.clear()
            return []
        split = free[0]
        self.splits.remove(split)
        end = min(split.position + self.server.batch, split.stop)
        if self.server.fails_at is not None and end > self.server.fails_at:
            raise OSError("the server has gone")
        left = replace(split, position=end) if end < split.stop else None
        self.splits += [left] if left is not None else []
        self.server.fetched += end - split.position
        return [SplitBatch(split.split_id, list(range(split.position, end)), left, size=8 * (end - split.position))]

    def wake_up(self) -> None:
        self.woken.set()

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self.server.paused = (self.server.paused | set(to_pause)) - set(to_resume)

    def close(self) -> None:
        self.server.closed += 1


def counting(server: Server, splits: Sequence[Counted], **limits: int) -> SourceReaderBase[int, Counted]:
    reader: SourceReaderBase[int, Counted] = SourceReaderBase(lambda: CountingReader(server), **limits)
    reader.start()
    reader.add_splits(splits)
    reader.notify_no_more_splits()
    return reader


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("it never came to that")


BEFORE: set[threading.Thread] = set()
"""threads of jobs of other tests in this process, which may still run"""


@pytest.fixture(autouse=True, scope="module")
def _threads_before() -> None:
    BEFORE.update(threading.enumerate())


def fetchers() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "millrace-fetcher" and each not in BEFORE]


@given(st.lists(st.integers(1, 60), max_size=4), st.integers(1, 25), st.lists(st.integers(1, 8), max_size=6))
def test_every_number_once_whenever_a_new_reader_takes_over(counts: list[int], batch: int, polls: list[int]) -> None:
    splits = [Counted(str(n), 0, count) for n, count in enumerate(counts)]
    output = Collected()
    for budget in [*polls, None]:
        reader = counting(Server(batch), splits)
        status = InputStatus.MORE_AVAILABLE
        while status is not InputStatus.END_OF_INPUT and budget != 0:
            status = reader.poll_next(output)
            budget = None if budget is None else budget - 1
        splits = reader.snapshot_state(1)
        reader.close()
    assert sorted(output.records) == sorted(n for count in counts for n in range(count))
    assert not fetchers()


@pytest.mark.parametrize("limits", [{"records_ahead": 100}, {"bytes_ahead": 800}])
def test_it_reads_ahead_so_far_and_no_further(limits: dict[str, int]) -> None:
    server, output = Server(), Collected()
    reader = counting(server, [Counted("a", 0, 100_000)], **limits)
    until(lambda: server.fetched >= 100)
    for emitted in range(0, 500, 10):
        until(lambda: server.fetched >= emitted + 100)  # noqa: B023  waits inside the loop
        time.sleep(0.001)
        assert server.fetched == emitted + 100
        assert reader.snapshot_state(1) == [Counted("a", emitted, 100_000)]
        reader.poll_next(output)
    reader.close()
    assert output.records == list(range(500))
    assert server.in_threads == {"millrace-fetcher"}
    assert server.closed == 1


def test_a_failure_in_the_thread_comes_after_what_was_fetched() -> None:
    server, output = Server(fails_at=35), Collected()
    reader = counting(server, [Counted("a", 0, 100)])
    with pytest.raises(OSError, match="the server has gone"):
        until(lambda: reader.poll_next(output) is InputStatus.END_OF_INPUT)
    assert output.records == list(range(30))
    reader.close()
    assert (fetchers(), server.closed) == ([], 1)


def test_a_reader_that_can_not_be_made_fails_the_poll() -> None:
    def make() -> Any:
        raise ConnectionError("nobody there")

    reader: SourceReaderBase[int, Counted] = SourceReaderBase(make)
    reader.add_splits([Counted("a", 0, 10)])
    with pytest.raises(ConnectionError, match="nobody there"):
        until(lambda: reader.poll_next(Collected()) is InputStatus.END_OF_INPUT)
    reader.close()
    assert not fetchers()


def test_new_splits_wake_up_a_fetch_that_waits() -> None:
    server, output = Server(), Collected()
    reader = counting(server, [Counted("a", 0, 10)])
    server.paused = {"a"}
    while reader.poll_next(output) is InputStatus.MORE_AVAILABLE:
        pass
    before = list(output.records)
    reader.add_splits([Counted("b", 100, 110)])
    until(lambda: reader.poll_next(output) is InputStatus.MORE_AVAILABLE)
    assert output.records == [*before, *range(100, 110)]
    reader.close()


def test_splits_that_are_ahead_are_left_alone() -> None:
    server, output = Server(), Collected()
    reader: SourceReaderBase[int, Counted] = SourceReaderBase(lambda: CountingReader(server))
    reader.pause_or_resume_splits(["fast"], [])
    reader.add_splits([Counted("fast", 0, 10), Counted("slow", 50, 60)])
    reader.notify_no_more_splits()
    until(lambda: reader.poll_next(output) is InputStatus.MORE_AVAILABLE)
    assert output.records == list(range(50, 60))
    reader.pause_or_resume_splits([], ["fast"])
    until(lambda: reader.poll_next(output) is InputStatus.END_OF_INPUT)
    assert output.records == [*range(50, 60), *range(10)]
    reader.close()


def test_splits_need_names_of_their_own() -> None:
    reader = counting(Server(), [])
    with pytest.raises(ValueError, match="two splits are called 'a'"):
        reader.add_splits([Counted("a", 0, 1), Counted("a", 1, 2)])
    reader.close()


class Stubborn(SplitReader[int, Counted]):
    """Hears nothing of ``wake_up``, and swallows every exception."""

    def handle_splits_changes(self, added: Sequence[Counted]) -> None: ...

    def fetch(self) -> list[SplitBatch[int, Counted]]:
        while True:
            try:
                time.sleep(0.01)
            except Exception:
                continue


def test_a_thread_that_does_not_listen_ends_all_the_same() -> None:
    fetcher: Fetcher[int, Counted] = Fetcher(Stubborn, 1, 1)
    fetcher.add([Counted("a", 0, 1)])
    assert fetcher.take(0.05) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system, "GRACE_SECONDS", 0.05)
        fetcher.close()
    assert not fetchers()


@pytest.mark.parametrize("pause_ms", [0.0, 2.0])
def test_who_is_woken_misses_nothing(pause_ms: float) -> None:
    """It is told that there is nothing more as soon as that is so, and hears of what comes after that."""
    server, output, available = Server(batch=3), Collected(), threading.Event()
    reader = counting(server, [Counted("a", 0, 200), Counted("b", 200, 400)], records_ahead=6)
    assert reader.on_available(available.set, pause_ms)
    waits = 0
    while (status := reader.poll_next(output)) is not InputStatus.END_OF_INPUT:
        if status is InputStatus.NOTHING_AVAILABLE:
            waits += 1
            assert available.wait(60)
            available.clear()
    reader.close()
    assert sorted(output.records) == list(range(400))
    assert waits
