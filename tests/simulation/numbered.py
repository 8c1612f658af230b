"""A source of numbered records that reads as much in an epoch as the world says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tests.simulation.current import world

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.watermark_strategy import WatermarkStrategy

STEP = 10
"""ms of event time from one record to the next"""


class Record(NamedTuple):
    """The ``number``-th record of a source; they count from 0."""

    source: str
    number: int


@dataclass(frozen=True)
class Split:
    """Every ``of``-th record from ``next`` on."""

    next: int
    of: int
    split_id: str | None = None
    """None: it has no name of its own"""


class NumberedSource(Source[Record, Split]):
    """``count`` records in ``splits`` splits, which are found one after the other if ``slowly``.

    Records come in the order of time as far as one subtask is concerned, whatever splits it has, unless splits are
    found slowly.
    """

    def __init__(
        self, name: str, count: int, splits: int, slowly: bool = False, named: bool = True, apart: bool = False
    ) -> None:
        """:param named: whether the splits have names.
        :param apart: whether records go to the output of their split.
        """
        self.name = name
        self.named = named
        self.apart = apart
        self.count = count
        self.splits = splits
        self.slowly = slowly

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[Split], checkpoint: Any = None) -> _Enumerator:
        splits = [Split(n, self.splits, str(n) if self.named else None) for n in range(self.splits)]
        return _Enumerator(context, self.slowly, *(checkpoint or (splits, 0)))

    def create_reader(self, context: SourceReaderContext) -> _Reader:
        return _Reader(self, context.get_index_of_subtask())


class _Enumerator(SplitEnumerator[Split]):
    def __init__(
        self, context: SplitEnumeratorContext[Split], slowly: bool, waiting: Sequence[Split], asked: int
    ) -> None:
        self._context = context
        self._slowly = slowly
        self._waiting = list(waiting)
        self._asked = asked

    def handle_split_request(self, subtask_id: int) -> None:
        world().driver_code("find splits")
        self._asked += 1
        if not self._waiting:
            self._context.signal_no_more_splits(subtask_id)
        elif not self._slowly or self._asked % 4 == 0:
            self._context.assign_split(self._waiting.pop(0), subtask_id)

    def add_splits_back(self, splits: Sequence[Split], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        world().driver_code("save the enumerator")
        return (list(self._waiting), self._asked)


class _Reader(SourceReader[Record, Split]):
    def __init__(self, source: NumberedSource, subtask: int) -> None:
        self._source = source
        self._subtask = subtask
        self._splits: list[Split] = []
        self._no_more = False
        self._allowed: int | None = None

    def add_splits(self, splits: Sequence[Split]) -> None:
        self._splits += splits

    def notify_no_more_splits(self) -> None:
        self._no_more = True

    def poll_next(self, output: ReaderOutput[Record]) -> InputStatus:
        world().user_code("read")
        source = self._source
        self._splits = sorted((split for split in self._splits if split.next < source.count), key=_next)
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more else InputStatus.NOTHING_AVAILABLE
        if self._allowed is None:
            self._allowed = world().allowance(source.name, self._subtask)
        if self._allowed == 0:
            return InputStatus.NOTHING_AVAILABLE
        for _ in range(min(self._allowed, world().endings.at_once())):
            self._allowed -= 1
            split = self._splits[0]
            to = output.create_output_for_split(split.split_id or "") if source.apart else output
            to.collect(Record(source.name, split.next), split.next * STEP)
            self._splits[0] = replace(split, next=split.next + split.of)
            if source.apart and self._splits[0].next >= source.count:
                output.release_output_for_split(split.split_id or "")
            self._splits = sorted((split for split in self._splits if split.next < source.count), key=_next)
            if not self._splits:
                break
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[Split]:
        self._allowed = None
        return self._splits


def _next(split: Split) -> int:
    return split.next


IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()
