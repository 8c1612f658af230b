"""What a poll has given and an epoch had no time for: it is a part of the source's state, and goes with its split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.time import Duration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.runtime.bases.epoch_protocol import SourceOrder
from millrace.runtime.bases.operator import ReadingLimits
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.operators.source import SourceOperator
from millrace.testing import OperatorHarness, Record, Status, Watermark

END = [Watermark(MAX_WATERMARK), Status.FINISHED]


@dataclass(frozen=True)
class Told(SourceEvent):
    what: Any


class Named(NamedTuple):
    """Polls that are still to be made: each a list of numbers that come together, or what to tell the enumerator."""

    polls: tuple[Any, ...]
    split_id: str | None = "a"


class Reader(SourceReader[int, Named]):
    def __init__(self, context: SourceReaderContext, apart: bool) -> None:
        self.context, self.apart = context, apart
        self.splits: list[Named] = []
        self.polled = 0
        self.no_more = False

    def add_splits(self, splits: Sequence[Named]) -> None:
        self.splits += splits

    def notify_no_more_splits(self) -> None:
        self.no_more = True

    def poll_next(self, output: ReaderOutput[int]) -> InputStatus:
        self.polled += 1
        if not self.splits:
            return InputStatus.END_OF_INPUT if self.no_more else InputStatus.NOTHING_AVAILABLE
        split = self.splits[0]
        poll, *rest = split.polls
        name = split.split_id or "Named"
        to = output.create_output_for_split(name) if self.apart else output
        if isinstance(poll, str):
            self.context.send_source_event_to_coordinator(Told(poll))
            self.context.send_split_request()
        elif isinstance(poll, list):
            for number in poll:
                to.collect(number, number)
        else:
            to.collect_batch(list(poll), list(poll))
        self.splits[0] = split._replace(polls=tuple(rest))
        if not rest:
            self.splits.pop(0)
            if self.apart:
                output.release_output_for_split(name)
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[Named]:
        return self.splits


class Polls(Source[int, Named]):
    def __init__(self, apart: bool = False) -> None:
        self.apart = apart
        self.readers: list[Reader] = []

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[Named], checkpoint: Any = None
    ) -> SplitEnumerator[Named]:
        raise NotImplementedError

    def create_reader(self, context: SourceReaderContext) -> Reader:
        self.readers.append(Reader(context, self.apart))
        return self.readers[-1]


def reading(source: Polls | None = None, subtask: int = 0, parallelism: int = 1) -> OperatorHarness:
    source = source or Polls()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return OperatorHarness(
        lambda: SourceOperator(source, strategy), inputs=0, subtask=subtask, parallelism=parallelism
    ).open()


def numbers(harness: OperatorHarness) -> list[Any]:
    return [item.value for item in harness.take_output() if isinstance(item, Record)]


def test_what_is_left_of_a_poll_comes_before_the_reader_is_polled() -> None:
    source = Polls()
    harness = reading(source)
    report = harness.read([Named(((1, 2, 3, 4, 5), (6,)))], records=2)
    assert (numbers(harness), source.readers[0].polled) == ([1, 2], 1)
    assert report.splits == (Named(((6,),)),), "where the reader is in its split is known behind a whole poll only"
    assert report.more and not report.finished
    assert harness.read(records=3).more
    assert (numbers(harness), source.readers[0].polled) == ([3, 4, 5], 1)
    assert harness.read().finished
    assert harness.output == [Record(6, 6), Watermark(5), *END]


def test_what_is_left_of_a_poll_survives_in_fresh_operators() -> None:
    harness = reading()
    new, found = [Named(((1, 2, 3, 4, 5), [6, 7, 8], (9,)))], []
    for _ in range(20):
        report = harness.read(new, records=2)
        new = []
        found.append(numbers(harness))
        harness = harness.restored()
        if report.finished:
            break
    assert [number for epoch in found for number in epoch] == list(range(1, 10))
    assert max(map(len, found)) == 2
    assert harness.read().finished


def test_a_source_ends_when_the_last_element_has_been_handed_on() -> None:
    """Its reader is at its end long before."""
    harness = reading()
    assert not harness.read([Named(((1, 2, 3),))], records=1).finished
    assert not harness.restored().read(records=1).finished
    assert not harness.read(records=1, stop=True).finished, "told to stop it does not forget what was read"
    assert harness.restored().read(stop=True).finished


def test_the_watermark_of_what_came_at_once_is_made_behind_its_last_piece() -> None:
    harness = reading()
    harness.read([Named(((1, 2, 3, 4),))], records=3, no_more_splits=False)
    assert harness.take_output() == [Record(n, n) for n in (1, 2, 3)]
    assert harness.restored().read(no_more_splits=False).watermark == 3


def test_a_source_with_something_left_is_not_idle() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(100))
    source = Polls()
    with OperatorHarness(lambda: SourceOperator(source, strategy), inputs=0) as harness:
        harness.read([Named(((1, 2),))], records=1, no_more_splits=False)
        harness.end_epoch()
        harness.set_processing_time(1_000)
        harness.end_epoch()
        assert Status.IDLE not in harness.output
        harness.read(no_more_splits=False)
        harness.set_processing_time(2_000)
        harness.end_epoch()
        assert harness.output[-1] is Status.IDLE


def test_the_enumerator_hears_of_what_comes_behind_elements_when_these_have_been_handed_on() -> None:
    """It may act on what it hears, and what it does is recorded."""
    harness = reading()
    report = harness.read([Named(("first", (1, 2, 3), "second"))], records=2)
    assert (report.events, report.requests) == ((), 0), "all that is said in an epoch is said at its end"
    harness = harness.restored()
    report = harness.read(records=1)
    assert (report.events, report.requests) == ((Told("first"),), 1)
    report = harness.read()
    assert (report.events, report.requests) == ((Told("second"),), 1)


def test_a_source_that_has_to_wait_hands_nothing_on() -> None:
    harness = reading()
    harness.read([Named(((1, 2),))], records=1)
    operator = harness.operator
    assert isinstance(operator, SourceOperator)
    assert list(operator.read(SourceOrder(paused=True, no_more_splits=True), 2, ReadingLimits())) == [None]
    assert numbers(harness) == [1]
    assert harness.read().finished
    assert numbers(harness) == [2]


# -- another parallelism ----------------------------------------------------------------------------------------------


def taken_over(smalls: Sequence[Any], parallelism: int, apart: bool) -> list[OperatorHarness]:
    """The subtasks of the next job."""
    found = []
    for subtask in range(parallelism):
        source = Polls(apart)
        harness = reading(source, subtask, parallelism)
        if smalls:
            harness.operator.take_over_small(smalls)
        found.append(harness)
    return found


def left(split: Named, records: int, apart: bool) -> tuple[Any, Named | None]:
    """The state of a subtask that has read so many records of a split, and what the driver deals anew."""
    harness = reading(Polls(apart))
    report = harness.read([split], records=records)
    return harness.operator.snapshot(), next(iter(report.splits), None)


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_with_another_parallelism_it_goes_with_its_split(apart: bool) -> None:
    one, split_of_one = left(Named(((1, 2, 3), (4,)), "a"), 1, apart)
    two, split_of_two = left(Named(((11, 12, 13), (14,)), "b"), 2, apart)
    first, second, third = taken_over([one, two], 3, apart)
    assert split_of_one is not None and split_of_two is not None
    assert third.read([split_of_one]).finished
    assert first.read([], no_more_splits=False).watermark < 0
    assert first.read([split_of_two]).finished
    assert second.read().finished
    assert [numbers(each) for each in (first, second, third)] == [[13, 14], [], [2, 3, 4]]


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_without_a_split_of_its_own_any_one_hands_it_on(apart: bool) -> None:
    """The split has been read to its end."""
    one, split_of_one = left(Named(((1, 2, 3),), "a"), 1, apart)
    two, split_of_two = left(Named(((11, 12, 13), (14,)), "b"), 1, apart)
    subtasks = taken_over([one, two], 3, apart)
    splits = [[split] if split is not None else [] for split in (split_of_two, split_of_one, None)]
    for subtask, split in zip(subtasks, splits):
        assert subtask.read(split).finished
    found = sorted(number for subtask in subtasks for number in numbers(subtask))
    assert found == [2, 3, 12, 13, 14]


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_a_poll_of_a_split_without_a_name_ends_in_its_epoch(apart: bool) -> None:
    """Such splits can't be told apart, so nobody would know with which of them the rest goes."""
    harness = reading(Polls(apart))
    assert harness.read([Named(((1, 2, 3), (4,)), None)], records=1).more
    assert numbers(harness) == [1, 2, 3]


def test_a_poll_of_several_splits_ends_in_its_epoch_unless_each_has_its_output() -> None:
    """Another subtask could else emit the rest, at the same time as later elements of the split, and operators that
    count by subtask would count wrongly."""
    for apart, expected in ((False, [1, 2, 3]), (True, [1])):
        harness = reading(Polls(apart))
        harness.read([Named(((1, 2, 3), (4,)), "a"), Named(((5, 6),), "b")], records=1)
        assert numbers(harness) == expected


def test_a_foreign_split_does_not_hold_the_watermark_back() -> None:
    one, _ = left(Named(((1, 2, 3),)), 1, True)
    first, _ = taken_over([one], 2, True)
    report = first.read([Named(((50,), (60,), (70,)), "other")], records=4, no_more_splits=False)
    assert numbers(first) == [2, 3, 50, 60]
    assert report.watermark == 59


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_it_does_not_make_other_splits_late(apart: bool) -> None:
    """A subtask may get a split that is not as far: only what is read from now on says how far it is in time."""
    one, split_of_one = left(Named(((1, 2, 90), (91,)), "a"), 1, apart)
    two, split_of_two = left(Named(((5,), (6,), (7,)), "b"), 1, apart)
    assert split_of_one is not None and split_of_two is not None
    (only,) = taken_over([one, two], 1, apart)
    only.read([split_of_two, split_of_one], records=4, no_more_splits=False)
    found = only.take_output()
    assert found == [Record(2, 2), Record(90, 90), Record(6, 6), Watermark(5), Record(7, 7), Watermark(6)]
    assert only.read().finished
    assert only.output == [Record(91, 91), Watermark(90), *END]


@given(st.data())
def test_however_often_the_parallelism_changes_each_element_comes_once(data: st.DataObject) -> None:
    apart, named = data.draw(st.booleans(), "apart"), data.draw(st.booleans(), "named")
    numbered = itertools.count()
    splits = [
        Named(tuple(tuple(itertools.islice(numbered, size)) for size in sizes), str(number) if named else None)
        for number, sizes in enumerate(
            data.draw(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=1, max_size=4), "polls")
        )
    ]
    last = {number: split.polls[-1][-1] for split in splits for poll in split.polls for number in poll}
    """number -> the last one of its split"""
    found: list[int] = []
    smalls: list[Any] = []
    dealt: list[list[Named]] = []
    for parallelism in (*data.draw(st.lists(st.integers(1, 3), max_size=4), "parallelism"), 4):
        if parallelism != len(smalls):  # else all subtasks keep their splits
            targets = [data.draw(st.integers(0, parallelism - 1), "target") for _ in splits]
            dealt = [[split for split, to in zip(splits, targets) if to == subtask] for subtask in range(parallelism)]
        records = None if parallelism == 4 else 2
        subtasks = taken_over(smalls, parallelism, apart)
        reports = [subtask.read(mine, records=records) for subtask, mine in zip(subtasks, dealt)]
        emitted = [numbers(subtask) for subtask in subtasks]
        for mine, own in zip(dealt, emitted):
            others = {split.polls[-1][-1] for theirs in dealt if theirs is not mine for split in theirs}
            assert not others & {last[number] for number in own}, "a split that another subtask reads"
        found += itertools.chain.from_iterable(emitted)
        smalls = [subtask.operator.snapshot() for subtask in subtasks]
        dealt = [list(report.splits) for report in reports]
        splits = [split for mine in dealt for split in mine]
    assert sorted(found) == list(range(next(numbered)))
