"""``SourceOperator`` in an epoch that lasts until somebody ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.runtime.operators.test_source import Numbers, Reader, Split, reading

from millrace.common.source import SourceReaderContext
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader
from millrace.runtime.bases.epoch_protocol import SourceOrder
from millrace.runtime.bases.operator import ReadingLimits, ReadingOperator
from millrace.testing import OperatorHarness


class Telling(Reader):
    """Knows whether it has splits."""

    def has_splits(self) -> bool:
        return any(split.values for split in self.splits)


class TellingNumbers(Numbers):
    def create_reader(self, context: SourceReaderContext) -> Reader:
        return Telling(self.log, context)


class Epoch:
    """An epoch of a source that goes on until ``end``."""

    def __init__(self, harness: OperatorHarness, order: SourceOrder, records: int | None = None) -> None:
        assert isinstance(harness.operator, ReadingOperator)
        self.operator = harness.operator
        self._over = False
        limits = ReadingLimits(records, over=lambda: self._over, stays=True)
        self._steps: Iterator[None] = self.operator.read(order, 1, limits)

    def until_dry(self) -> bool:
        """Whether the source was dry; else the epoch has come to its end."""
        return any(self.operator.is_dry for _ in self._steps)

    def end(self) -> None:
        self._over = True
        for _ in self._steps:
            pass


@pytest.fixture
def harness() -> Iterator[OperatorHarness]:
    with reading(source=TellingNumbers()) as made:
        yield made


def test_a_source_that_has_nothing_is_asked_again_in_its_epoch(harness: OperatorHarness) -> None:
    epoch = Epoch(harness, SourceOrder((Split((1, "pause", 2, "pause", 3)),)))
    assert epoch.until_dry()
    assert harness.values == [1]
    assert epoch.until_dry()
    assert harness.values == [1, 2]
    assert not epoch.operator.needs_driver
    epoch.end()
    assert epoch.operator.report().splits == (Split((3,)),)
    assert harness.values == [1, 2]


def test_a_source_that_runs_out_of_splits_needs_the_driver(harness: OperatorHarness) -> None:
    epoch = Epoch(harness, SourceOrder((Split((1,)),)))
    assert epoch.until_dry()
    assert epoch.operator.needs_driver
    epoch.end()


def test_a_source_that_had_no_split_does_not_ask_again_and_again(harness: OperatorHarness) -> None:
    epoch = Epoch(harness, SourceOrder())
    assert epoch.until_dry()
    assert not epoch.operator.needs_driver
    epoch.end()


def test_a_source_at_its_limit_or_at_its_end_ends_the_epoch_by_itself(harness: OperatorHarness) -> None:
    limited = Epoch(harness, SourceOrder((Split((1, 2, 3)),), no_more_splits=True), records=2)
    assert not limited.until_dry()
    assert harness.values == [1, 2]
    assert not Epoch(harness, SourceOrder()).until_dry()
    assert harness.values == [1, 2, 3]
    assert harness.operator.finished  # type: ignore[attr-defined]


def test_a_reader_that_says_when_it_has_something_is_told_how() -> None:
    class Waking(Telling):
        def on_available(self, call: Callable[[], None], pause_ms: float) -> bool:
            self.wake = call
            return True

    class WakingNumbers(TellingNumbers):
        def create_reader(self, context: SourceReaderContext) -> Reader:
            self.reader = Waking(self.log, context)
            return self.reader

    source, woken = WakingNumbers(), []
    with reading(source=source) as harness:
        harness.operator.on_available = lambda: woken.append(True)  # type: ignore[attr-defined]
        assert Epoch(harness, SourceOrder((Split((1, "pause")),))).until_dry()
        assert harness.operator.is_woken  # type: ignore[attr-defined]
        source.reader.wake()
    assert woken == [True]


def test_the_thread_that_fetches_wakes_its_reader() -> None:
    class Letters(SplitReader[str, str]):
        def handle_splits_changes(self, splits: Sequence[str]) -> None:
            """There is one."""

        def fetch(self) -> list[SplitBatch[str, str]]:
            return [SplitBatch("str", ["a"], None)]

    available = threading.Event()
    fetched = SourceReaderBase[str, str](Letters)
    try:
        assert fetched.on_available(available.set, 0)
        assert not fetched.has_splits()
        fetched.add_splits(["split"])
        assert fetched.has_splits()
        assert available.wait(60)
    finally:
        fetched.close()
