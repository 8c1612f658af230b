"""What readers and enumerator of a hybrid source tell each other, and what they leave in a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.source import SourceEvent, split_id


@dataclass(frozen=True)
class HybridSplit:
    """A split of the source with this number."""

    index: int
    split: Any

    @property
    def split_id(self) -> str:
        return f"{self.index}:{split_id(self.split)}"


@dataclass(frozen=True)
class HybridPosition:
    """Which source a reader is at. It is among the reader's splits, so a reader that takes over need not ask."""

    index: int = 0
    payload: bytes | None = None
    """the source, pickled, if a factory made it"""
    no_more_splits: bool = False
    split_id: str = "position"


@dataclass(frozen=True)
class Finished(SourceEvent):
    """A reader has read all of a source."""

    index: int


@dataclass(frozen=True)
class SwitchTo(SourceEvent):
    """Readers shall go on with a source."""

    position: HybridPosition


@dataclass(frozen=True)
class NoMoreSplits(SourceEvent):
    """A reader has all its splits of a source that is not the last one."""

    index: int


@dataclass(frozen=True)
class Inner(SourceEvent):
    """An event of a source's own readers or enumerator."""

    index: int
    event: SourceEvent
