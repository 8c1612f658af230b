"""One statement on the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A statement, or a clause of queries.

    :ivar syntax: ``[..]`` may be left out, ``{a | b}`` is one of them, ``..`` repeats what is before it.
    :ivar meaning: Markdown.
    :ivar example: statements with semicolons, which the page's test runs.
    :ivar elsewhere: why the example is not run here, but read only.
    """

    title: str
    syntax: str
    meaning: str
    example: str
    elsewhere: str = ""
