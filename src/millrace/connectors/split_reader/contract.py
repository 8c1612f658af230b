"""``SplitReader``: what a connector implements to fetch, after FLIP-27's interface of this name.

Everything but ``wake_up`` is called by one thread, so a client need not be safe for several.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from millrace.relational.rows import count

__all__ = ["SplitBatch", "SplitReader"]

T = TypeVar("T")
SplitT = TypeVar("SplitT")


@dataclass(frozen=True)
class SplitBatch(Generic[T, SplitT]):
    """Neighbouring records of one split, some thousands at most."""

    split_id: str
    records: list[T]
    left: SplitT | None
    """the split as it is behind these records; None: this was all of it"""
    timestamps: list[int] | None = None
    """ms, one for each record"""
    size: int = 0
    """about how many bytes they take, if that is known"""
    skipped: int = field(default=0, kw_only=True)
    """how many records among them could not be read and are left out, see ``millrace.util.skipped``"""

    @property
    def elements(self) -> int:
        """How many records; of batches of rows it is the rows."""
        return count(self.records)

    def and_then(self, later: SplitBatch[T, SplitT]) -> SplitBatch[T, SplitT]:
        """Both as one.

        :param later: what follows in the same split.
        """
        times, after = self.timestamps, later.timestamps
        return SplitBatch(
            self.split_id,
            [*self.records, *later.records],
            later.left,
            None if times is None or after is None else [*times, *after],
            self.size + later.size,
            skipped=self.skipped + later.skipped,
        )

    def goes_with(self, later: SplitBatch[T, SplitT]) -> bool:
        """Whether they can be one."""
        same = self.split_id == later.split_id and self.left is not None
        return same and (self.timestamps is None) == (later.timestamps is None)


class SplitReader(ABC, Generic[T, SplitT]):
    """Fetches records of the splits that it was given."""

    any_order = False
    """whether records of one split may be read before those of another that were fetched earlier"""

    @abstractmethod
    def fetch(self) -> Sequence[SplitBatch[T, SplitT]]:
        """What comes next, of any of its splits. May wait until there is something, or ``wake_up`` is called, or give
        nothing; called again at once."""

    @abstractmethod
    def handle_splits_changes(self, added: Sequence[SplitT]) -> None:
        """From now on fetch these splits, too, from their positions on."""

    def wake_up(self) -> None:
        """Let a ``fetch`` that waits return soon. Called from another thread, at any time."""

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        """Fetch nothing of some splits (given by their names) until they are resumed: they are ahead of others. By
        default they are fetched all the same."""

    def keep_alive(self) -> None:
        """Called every few seconds while nothing is fetched since enough waits to be emitted: some servers drop clients
        that are silent."""

    def close(self) -> None:
        """Release the client."""
