"""``docs/sql/statements.md``, and ``hints.md``, which is made in the same way."""

from __future__ import annotations

from collections.abc import Iterator

from . import TOPICS, hints
from .entry import Entry
from .running import FILES, TABLES, place, printed

_HEAD = """# SQL statements

Each statement with an example, whose output is computed when this page is made. `[..]` may be left out, `{a | b}` is one
of them, `..` repeats what is before it. What a statement means beyond that is in the [guide](../guide/tables.md), what
differs from Flink in [differences](../differences.md). Materialized tables are read and refused.

The examples run as streams in UTC, one subtask, over these tables:
"""

_HINTS = """# Hints

A hint stands in `/*+ .. */` behind SELECT, or (OPTIONS) behind a table. An unknown hint, or one that names no table of the
query, is an error. Names are those in FROM: the alias if there is one. The examples are over the tables of
[statements](statements.md).
"""


def page() -> str:
    """All statements; without the first line of the page."""
    with place():
        return "\n".join(_lines())


def hints_page() -> str:
    """All hints; without the first line of the page."""
    with place():
        return "\n".join([_HINTS, *(line for entry in hints.ENTRIES for line in _entry(entry, "##"))])


def _lines() -> Iterator[str]:
    yield from (_HEAD, *_block("sql", TABLES))
    for name in ("orders.csv", "prices.csv"):
        yield from (f"`{name}`:", "", *_block("text", FILES[name]))
    for title, entries in TOPICS.items():
        yield from (f"## {title}", "")
        for entry in entries:
            yield from _entry(entry)


def _entry(entry: Entry, level: str = "###") -> Iterator[str]:
    yield from (f"{level} {entry.title}", "", entry.meaning, "", *_block("text", entry.syntax), "For example:", "")
    if entry.elsewhere:
        yield from (*_block("sql", entry.example), f"(Not run here: {entry.elsewhere}.)", "")
        return
    yield from _block("sql", entry.example)
    yield from _block("text", printed(entry))


def _block(language: str, text: str) -> Iterator[str]:
    yield from (f"```{language}", *(line.rstrip() for line in text.strip("\n").splitlines()), "```", "")
