"""The state of the automaton for one key: partial matches, and complete matches that wait for earlier ones.

The events of a partial match are a chain that leads back from the last event to the first one. A link never changes, so
partial matches with the same first events share those links.

``KeyState`` is changed in place while events are processed. For storage a small one is packed: into bytes where its
events are plain data, so that a million keys with one partial match each fit into memory. A large one is stored as the
object, since packing it for every event would cost more than processing the event. Earlier versions stored nodes, and
edges with versions between them: a node is an event under the name of a step, and a partial match of some version goes
back along the edges of compatible versions.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from typing import Any, Final

from millrace.common.types import Row, RowKind, row_of

# Chains of events

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
    """The match of a chain: name of a step -> its events; steps are in the order of their first events."""
    found: dict[str, list[Any]] = {}
    for _, page, event, _, _ in path(link):
        known = found.get(page)
        if known is None:
            found[page] = [event]
        else:
            known.append(event)
    return found


def links_of(ends: Iterable[Link]) -> list[Link]:
    """All links of some chains, each once and after the link that it leads back to."""
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


# The stored form of earlier versions

Version = tuple[int, ...]
Partial = tuple[int, Link, int, int]
"""(number of the state, link of the last event, timestamp and id of the first event)"""
_SINGLE_EDGE = 6
"""length of the form of a single event; the other one has 4 parts"""


def unpacked(
    packed: tuple[Any, ...], made: Callable[[Any], Any] | None
) -> tuple[int, int, list[Partial], list[Partial]]:
    """(timestamp of the last event, number of events with it, partial matches, complete matches).

    :param made: makes an event of its plain data.
    """
    if len(packed) == _SINGLE_EDGE:
        number, page, event, time, _, _ = packed
        only: Link = (None, page, event if made is None else made(event), time, 0)
        return time, 1, [(number, only, time, 0)], []
    (_, time, event_number, _), partials, completed, nodes = packed
    chains = _Chains(nodes, made)
    both = [
        [
            (number, link, first, first_id)
            for number, version, node, first, first_id, _ in some
            if (link := chains.link(node, version)) is not None
        ]
        for some in (partials, completed)
    ]
    return time, event_number, both[0], both[1]


class _Chains:
    """Makes chains of nodes; the same way back becomes the same chain."""

    def __init__(self, nodes: Any, made: Callable[[Any], Any] | None) -> None:
        self._nodes = {
            number: (page, event if made is None else made(event), time, event_id, edges)
            for number, page, event, time, event_id, _, edges in nodes
        }
        self._known: dict[tuple[int, int], Link] = {}

    def link(self, number: int, version: Version) -> Link | None:
        """The chain of a partial match with some version; None: its events were removed."""
        ways: list[tuple[int, int]] = []
        at: int | None = number
        while at is not None:
            node = self._nodes.get(at)
            found = None if node is None else _onward(node[4], version)
            if found is None:
                return None
            ways.append((at, found))
            at, version = self._nodes[at][4][found][:2]
        link: Link | None = None
        for way in reversed(ways):
            known = self._known.get(way)
            if known is None:
                known = self._known[way] = (link, *self._nodes[way[0]][:4])
            link = known
        return link


def _onward(edges: Any, version: Version) -> int | None:
    """The number of the edge along which a partial match goes back: the last compatible one."""
    places = [place for place, edge in enumerate(edges) if _compatible(version, edge[1])]
    return places[-1] if places else None


def _compatible(version: Version, edge: Version) -> bool:
    length, prefix = len(version), len(edge)
    if length > prefix:
        return version[:prefix] == edge
    return length == prefix and version[:-1] == edge[:-1] and version[-1] >= edge[-1]


# The state of a key

Stored = Any
"""bytes, a tuple, or a ``KeyState``"""

_SMALL = 6
"""the most links, and the most partial matches, of a state that is packed for storage"""
_COUNTED_AGAIN = 64
"""The links of a large state are counted again after 1/``_COUNTED_AGAIN`` as many events."""


class KeyState:
    """The partial matches of one key. The start state is not among them."""

    __slots__ = ("begun", "completed", "event_number", "kept", "numbers", "partials", "since", "time")

    def __init__(self) -> None:
        self.partials: list[Partial] = []
        """partial matches in the order of their first events"""
        self.numbers: bytearray | None = None
        """the state number of each partial match, where there are many partial matches; else None"""
        self.completed: list[Partial] = []
        """complete matches that wait for earlier ones, as a heap by first event"""
        self.time = 0
        """the timestamp (ms) of the last event taken; ``event_number`` is how many events with this timestamp were
        taken"""
        self.event_number = 0
        self.begun = False
        """whether an event has begun a partial match since the caller set it to False; not stored"""
        self.kept = 0
        """about how many links there were when the state was last packed or counted, ``since`` events ago"""
        self.since = 0

    @property
    def idle(self) -> bool:
        """Whether there are neither partial nor complete matches."""
        return not self.partials and not self.completed

    def links(self) -> list[Link]:
        """All links, each after the one that it leads back to."""
        return links_of([partial[1] for both in (self.partials, self.completed) for partial in both])

    def __reduce__(self) -> Any:
        return _unpack, (_packed(self, self.links()),)


def store(state: KeyState, events: int = 1) -> Stored:
    """The form in which a state is stored.

    :param events: number of events since it was last stored.
    """
    state.since += events
    if state.kept > _SMALL and state.since * _COUNTED_AGAIN < state.kept:
        return state
    links = state.links()
    state.kept, state.since = len(links), 0
    if len(links) > _SMALL or len(state.partials) > _SMALL:
        return state
    if all(link[EVENT].__class__ is Row for link in links):
        try:
            return marshal.dumps((_packed(state, links, _values),))
        except ValueError:  # with fields of classes
            return _packed(state, links)
    packed = _packed(state, links)
    try:
        return marshal.dumps(packed)
    except ValueError:  # events of classes
        return packed


def load(stored: Stored) -> KeyState:
    """The state that was stored; it may be changed in place."""
    if stored.__class__ is KeyState:
        return stored
    packed = marshal.loads(stored) if stored.__class__ is bytes else stored
    return _unpack(packed) if len(packed) != 1 else _unpack(packed[0], _row)


_shared_names: dict[tuple[str, ...], list[str]] = {}
"""names of a row -> the list of names that equal rows share"""


def _values(row: Row) -> tuple[Any, ...]:
    """The values of a row.

    :raises ValueError: the row has more than names and values.
    """
    if row._row_kind is not RowKind.INSERT:
        raise ValueError
    fields = row._fields
    return None if fields is None else tuple(fields), row._values


def _row(values: tuple[Any, ...]) -> Row:
    names, cells = values
    return row_of(cells, None if names is None else _shared_names.setdefault(names, list(names)))


_SINGLE, _WHOLE = 5, 3
"""lengths of the two packed forms; the forms of earlier versions have other lengths"""


def _packed(state: KeyState, links: list[Link], plain: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
    """The state as plain data. A single event that has begun a match, the most frequent case, has the shortest form.

    :param plain: makes plain data of an event.
    """
    made = [each[EVENT] if plain is None else plain(each[EVENT]) for each in links]
    if len(state.partials) == 1 == len(links) and not state.completed:
        ((_, page, _, time, event_id),) = links
        if event_id == 0 and time == state.time:
            return state.partials[0][0], page, made[0], time, state.event_number
    places = {id(link): place for place, link in enumerate(links)}
    flat = tuple(
        [
            (-1 if before is None else places[id(before)], page, event, time, event_id)
            for (before, page, _, time, event_id), event in zip(links, made)
        ]
    )
    some = [
        tuple([(number, places[id(link)], first, first_id) for number, link, first, first_id in each])
        for each in (state.partials, state.completed)
    ]
    return (state.time, state.event_number), flat, tuple(some)


def _unpack(packed: tuple[Any, ...], made: Callable[[Any], Any] | None = None) -> KeyState:
    """The state again; ``made`` makes an event of its plain data."""
    state = KeyState()
    if len(packed) == _SINGLE:
        number, page, event, time, state.event_number = packed
        state.time, state.kept = time, 1
        state.partials.append((number, (None, page, event if made is None else made(event), time, 0), time, 0))
        return state
    if len(packed) != _WHOLE:
        state.time, state.event_number, state.partials, state.completed = unpacked(packed, made)
        state.kept = len(state.links())
        return state
    (state.time, state.event_number), flat, some = packed
    links: list[Link] = []
    for before, page, event, time, event_id in flat:
        if made is not None:
            event = made(event)
        links.append((links[before] if before >= 0 else None, page, event, time, event_id))
    state.kept = len(links)
    state.partials, state.completed = (
        [(number, links[place], first, first_id) for number, place, first, first_id in each] for each in some
    )
    return state
