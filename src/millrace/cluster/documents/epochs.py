"""What an epoch took, and for what."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class EpochDocument:
    """One completed epoch. Times are ms."""

    number: int
    began: int
    duration: int
    records: int
    """elements that the sources have read"""
    watermark: int | None
    """the lowest that has reached an end of the job; None: none yet"""
    phases: dict[str, float] = field(default_factory=dict)
    """plan, start, read, process, exchange, record, commit -> ms, as far as they are measured"""
    checkpoint: bool = False
