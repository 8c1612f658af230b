"""``FileSplit``: a part of a file and how far it has been read."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["FileSplit"]


@dataclass(frozen=True)
class FileSplit:
    """The bytes ``offset`` to ``offset + length`` of a file.

    What lies on the border is settled by the format: a line belongs to the split in which it starts, a Parquet row
    group to the one in which its first page starts.
    """

    path: str
    offset: int
    length: int
    root: str = ""
    """The URI that its file system is opened from, "" for local files."""
    whole: bool = True
    """Whether the split is the entire file (``length`` is then only informative: compressed files read on)."""
    position: int | None = None
    """How far it is read, in the format's own unit (bytes, rows, ...); None before the first record."""

    @property
    def split_id(self) -> str:
        return f"{self.root or 'file'}:{self.path}:{self.offset}+{self.length}"

    @property
    def end(self) -> int:
        return self.offset + self.length

    def at(self, position: int | None) -> FileSplit:
        """The same split, read up to ``position``."""
        return replace(self, position=position)
