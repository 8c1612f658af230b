"""What one check of ``millrace doctor`` found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How bad it is."""

    GOOD = "ok"
    NOTE = "note"
    """something works less well than it could, or is not there and may not be needed"""
    BAD = "PROBLEM"
    """jobs will not run"""


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and what mends it."""

    about: str
    verdict: Verdict
    text: str
    cure: str = ""
    """a command where there is one"""


def good(about: str, text: str) -> Finding:
    return Finding(about, Verdict.GOOD, text)


def note(about: str, text: str, cure: str = "") -> Finding:
    return Finding(about, Verdict.NOTE, text, cure)


def bad(about: str, text: str, cure: str) -> Finding:
    return Finding(about, Verdict.BAD, text, cure)
