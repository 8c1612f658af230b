"""How the changes of a query over a stream are given."""

from __future__ import annotations

import enum


class Changes(enum.Enum):
    """Ways to give changes."""

    INSERTIONS = "insertions"
    """rows as they are; a change of a row that was given before is an error"""
    KINDS = "kinds"
    """each change with its kind in front, in a column ``op``: +I, -U, +U, -D"""

    @staticmethod
    def of(text: str) -> Changes:
        """:raises ValueError: there is no such way."""
        try:
            return Changes(text.lower())
        except ValueError:
            raise ValueError(f"changes is 'insertions' or 'kinds', not {text!r}") from None
