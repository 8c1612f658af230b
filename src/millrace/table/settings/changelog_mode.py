"""Which kinds of change a changelog has."""

from __future__ import annotations

from millrace.common.types import RowKind
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """The kinds of change in a changelog.

        >>> ChangelogMode.upsert() == ChangelogMode.all()
        False
    """

    def __init__(self, kinds: frozenset[RowKind]) -> None:
        self._kinds = kinds

    @property
    def kinds(self) -> frozenset[RowKind]:
        """The kinds of change that there may be."""
        return self._kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added."""
        return ChangelogMode(INSERT_ONLY)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Without the former content of updated rows: they are known by their key."""
        return ChangelogMode(UPSERT)

    @staticmethod
    def all() -> ChangelogMode:
        """Rows are added, updated (old and new row) and deleted."""
        return ChangelogMode(ALL_KINDS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __str__(self) -> str:
        return f"[{', '.join(kind.name for kind in RowKind if kind in self._kinds)}]"
