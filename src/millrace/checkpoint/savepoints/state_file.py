"""One file of a savepoint, as its metadata describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["StateFile"]


@dataclass(frozen=True)
class StateFile:
    """A Parquet file that holds (part of) one state of one subtask of one operator."""

    path: str
    """relative to the folder of the savepoint"""
    state: str
    """name of the state; timers go by names that no state can have"""
    scope: str
    """``keyed`` or ``operator``"""
    kind: str
    """of the table, or the distribution of an operator state"""
    subtask: int
    rows: int
    size: int
    """bytes"""
    checksum: int
    """CRC-32 of the file"""
    columns: dict[str, Any] = field(default_factory=dict)
    """column -> how its values are stored, as plain JSON values"""
    groups: list[int] | None = None
    """lowest and highest key group of its rows; None for state without keys"""
    footer: int | None = None
    """CRC-32 of the footer, which says what the file is, for who reads parts of it; None in earlier versions"""
