"""The events of partial matches: each a chain that leads back from the last event to the first one.

A link never changes, so partial matches that have the same events up to some point share the links until there, and
those that nobody holds any more are gone by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

Link = tuple[Any, str, Any, int, int]
"""(link of the event before or None, name of the step, event, timestamp, id among the events of this time)"""
PAGE: Final = 1
EVENT: Final = 2
TIME: Final = 3
ID: Final = 4
EventId = tuple[int, int]
"""(timestamp, number among the events of this time)"""


def path(link: Link) -> list[Link]:
    """The links from the first event on."""
    found: list[Link] = []
    at: Any = link
    while at is not None:
        found.append(at)
        at = at[0]
    found.reverse()
    return found


def events_by_name(link: Link) -> dict[str, list[Any]]:
    """The match that a chain is: name of the step -> its events, in the order of the first ones."""
    found: dict[str, list[Any]] = {}
    for _, page, event, _, _ in path(link):
        known = found.get(page)
        if known is None:
            found[page] = [event]
        else:
            known.append(event)
    return found


def links_of(ends: Iterable[Link]) -> list[Link]:
    """All links of some chains, each once and behind the one that it leads back to."""
    seen: set[int] = set()
    found: list[Link] = []
    for end in ends:
        begun = len(found)
        at: Any = end
        while at is not None and id(at) not in seen:
            seen.add(id(at))
            found.append(at)
            at = at[0]
        found[begun:] = found[begun:][::-1]
    return found
