"""The built-in functions by topic: an example of each in SQL, and what it does.

The results are not here: they are computed when the page is made, and when it is tested.
"""

from __future__ import annotations

from . import aggregates, collections, conditions, conversions, json, numbers, queries, strings, times
from .entry import Entry

TOPICS: dict[str, tuple[Entry, ...]] = {
    **conditions.TOPICS,
    **numbers.TOPICS,
    **strings.TOPICS,
    **times.TOPICS,
    **conversions.TOPICS,
    **collections.TOPICS,
    **json.TOPICS,
    **aggregates.TOPICS,
    **queries.TOPICS,
}
"""title -> functions"""
ENTRIES = {entry.name: entry for entries in TOPICS.values() for entry in entries}
