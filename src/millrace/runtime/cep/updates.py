"""Patterns that are exchanged while a job runs: what a message says of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from millrace.runtime.cep.description import PatternDescription


@dataclass(frozen=True)
class PatternUpdate:
    """A version of a pattern, or its end."""

    id: str
    version: int
    pattern: str | None
    """its text; None: the pattern is not looked for any more"""
    function: str = ""
    """the name of the function that hears of its matches; empty where there is but one"""


@dataclass(frozen=True)
class PatternUpdates:
    """What one message says."""

    updates: tuple[PatternUpdate, ...]
    whole: bool = False
    """whether these are all patterns: others are not looked for any more, and an older version may come back"""


class PatternReader(ABC):
    """Reads messages and the texts of patterns; raises whatever says what is wrong with them."""

    @abstractmethod
    def updates(self, message: Any) -> PatternUpdates:
        """What a message says."""

    @abstractmethod
    def pattern(self, update: PatternUpdate) -> PatternDescription:
        """The pattern of an update that has a text."""
