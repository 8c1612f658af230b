"""Statements by topic, with examples; what the examples print is not here, but computed."""

from __future__ import annotations

from . import altering, changing, creating, looking, queries, session
from .entry import Entry

TOPICS: dict[str, tuple[Entry, ...]] = {
    topic.TITLE: topic.ENTRIES for topic in (queries, creating, altering, changing, looking, session)
}
ENTRIES = tuple(entry for entries in TOPICS.values() for entry in entries)
