"""One thing that is worth a user's attention, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A sentence with numbers, and what can be done."""

    rule: str
    """stable name of the rule, for tools"""
    severity: str
    """``error``: the job does not do its work; ``warning``: it does it badly; ``hint``: worth knowing"""
    question: str
    """what it answers: ``slow``, ``silent`` (nothing comes out) or ``failing``"""
    text: str
    advice: str
    vertex: str | None = None
    subtask: int | None = None
