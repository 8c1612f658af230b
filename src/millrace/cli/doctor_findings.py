"""The result of one check of ``millrace doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """The severity of a finding."""

    GOOD = "ok"
    NOTE = "note"
    """something works less well than it could, or an optional part is missing"""
    BAD = "PROBLEM"
    """jobs will not run"""


@dataclass(frozen=True)
class Finding:
    """The subject of a check, its state, and how to fix it."""

    about: str
    verdict: Verdict
    text: str
    cure: str = ""
    """how to fix the problem: a command where there is one"""


def good(about: str, text: str) -> Finding:
    return Finding(about, Verdict.GOOD, text)


def note(about: str, text: str, cure: str = "") -> Finding:
    return Finding(about, Verdict.NOTE, text, cure)


def bad(about: str, text: str, cure: str) -> Finding:
    return Finding(about, Verdict.BAD, text, cure)
