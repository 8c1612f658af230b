"""The kit for sources: a right one passes, and each of the broken ones is found out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest
from tests.testing.connectors.memory_log import LOGS, LogPlace, LogSource, LogSplit, LogSplitReader

from millrace.common.source import InputStatus, ReaderOutput, SourceReaderContext
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch
from millrace.testing import Check, ConformanceError
from millrace.testing.connectors import check_source, source_checks, sources


@pytest.mark.parametrize("check", source_checks(LogPlace), ids=str)
def test_one_by_one(check: Check) -> None:
    check()
    assert not LOGS


class Forgets(SourceReaderBase[str, LogSplit]):
    """Its positions run ahead of what it has emitted."""

    def snapshot_state(self, checkpoint_id: int) -> list[LogSplit]:
        return [LogSplit(each.partition, each.at + 1) for each in super().snapshot_state(checkpoint_id)]


class Repeats(SourceReaderBase[str, LogSplit]):
    def snapshot_state(self, checkpoint_id: int) -> list[LogSplit]:
        return [LogSplit(each.partition, max(each.at - 1, 0)) for each in super().snapshot_state(checkpoint_id)]


class Waits(SourceReaderBase[str, LogSplit]):
    def poll_next(self, output: ReaderOutput[str]) -> InputStatus:
        status = super().poll_next(output)
        if status is InputStatus.NOTHING_AVAILABLE:
            time.sleep(0.05)
        return status


class Ends(SourceReaderBase[str, LogSplit]):
    def poll_next(self, output: ReaderOutput[str]) -> InputStatus:
        status = super().poll_next(output)
        return InputStatus.END_OF_INPUT if status is InputStatus.NOTHING_AVAILABLE else status


class Leaks(SourceReaderBase[str, LogSplit]):
    """Closes nothing: its threads go on."""

    made: list[Leaks] = []

    def close(self) -> None:
        Leaks.made.append(self)


class PassesOver(LogSplitReader):
    def fetch(self) -> list[SplitBatch[str, LogSplit]]:
        for partition in self.log.partitions:
            partition[:] = [text for text in partition if not text.startswith("!")]
        return super().fetch()


@dataclass(frozen=True)
class Broken(LogSource):
    reader: Any = SourceReaderBase
    fetches: Any = LogSplitReader

    def create_reader(self, context: SourceReaderContext) -> SourceReaderBase[str, LogSplit]:
        made: SourceReaderBase[str, LogSplit] = self.reader(lambda: self.fetches(self.name))
        return made


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"reader": Forgets}, "of 90 records came within"),
        ({"reader": Repeats}, "came more than once"),
        ({"reader": Waits}, "two polls without anything to read took"),
        ({"reader": Ends}, "a source that says it is unbounded has ended"),
        ({"reader": Leaks}, "threads that go on after close"),
        ({"fetches": PassesOver}, "passed over in silence"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_ones_are_found_out(how: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "DEADLINE_SECONDS", 0.7)
    monkeypatch.setattr(sources, "LONGEST_POLL_SECONDS", 0.03)

    class Place(LogPlace):
        def source(self) -> LogSource:
            return Broken(self.name, **how)

        def close(self) -> None:
            """Its readers may go on."""

    try:
        with pytest.raises(ConformanceError, match=told):
            check_source(Place)
    finally:
        for reader in Leaks.made:
            SourceReaderBase.close(reader)
        Leaks.made.clear()
        LOGS.clear()
