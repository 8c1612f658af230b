"""What a mistake is: what somebody does, what comes of it, and what the index of errors tells about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

HERE = "# <-"
"""Ends the line of a program that is wrong: the message must name that line."""


class Way(Enum):
    """How somebody meets the message; the value is the language of the text in Markdown."""

    PROGRAM = "python"
    """a program of ``millrace run``, behind the imports of ``running.IMPORTS``"""
    SQL = "sql"
    """a script of ``millrace sql -f``"""
    COMMAND = "shell"
    """a command line"""


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Its files, and the working directory, are a folder of its own. ``{folder}`` in texts is that folder.
    """

    title: str
    """what was done wrong, as a heading"""
    way: Way
    text: str
    says: tuple[str, ...]
    """parts that the message must have: the thing by name, and what would be right"""
    cause: str
    cure: str
    options: tuple[str, ...] = ()
    """of the command line, before the program"""
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    """of the environment"""
    missing: tuple[str, ...] = ()
    """Python packages that are not installed"""
    exit_code: int = 1
    others_words: bool = False
    """whether the message has words of Python, click or pyarrow that differ by version, or lists commands or
    connectors (tests have some of their own)"""

    @property
    def line(self) -> int | None:
        """The line that is wrong, from 1."""
        found = [number for number, line in enumerate(self.text.splitlines(), 1) if line.endswith(HERE)]
        return found[0] if found else None


def program(title: str, text: str, says: tuple[str, ...], cause: str, cure: str, **more: Any) -> Mistake:
    """A program of ``millrace run``."""
    return Mistake(title, Way.PROGRAM, text, says, cause, cure, **more)
