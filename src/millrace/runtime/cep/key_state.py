"""What the automaton knows of one key: partial matches, and matches that wait for earlier ones.

While it works a ``KeyState`` is changed in place. Stored, a small one is packed: into bytes where its events are plain
data, so that a million keys with one partial match each fit into memory. A large one stays as it is, since packing it
for every event would cost more than the event.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from millrace.common.types import Row, RowKind, row_of
from millrace.runtime.cep import earlier_state
from millrace.runtime.cep.paths import EVENT, Link, links_of

Partial = tuple[int, Link, int, int]
"""(number of the state, link of the last event, timestamp and id of the first event)"""
Stored = Any
"""bytes, a tuple, or a ``KeyState``"""

_SMALL = 6
"""links of a state that is packed, at most; and partial matches"""
_COUNTED_AGAIN = 64
"""The links of a large state are counted again when so small a part of their number of events has come."""


class KeyState:
    """The start state is not among the partial matches."""

    __slots__ = ("begun", "completed", "event_number", "kept", "numbers", "partials", "since", "time")

    def __init__(self) -> None:
        self.partials: list[Partial] = []
        """in the order of their first events"""
        self.numbers: bytearray | None = None
        """the numbers of their states, where there are many of them"""
        self.completed: list[Partial] = []
        """a heap"""
        self.time = 0
        """the timestamp of the last event that was taken, and how many of that time were"""
        self.event_number = 0
        self.begun = False
        """whether an event has begun a partial match; for whoever sets it to False before, and not kept"""
        self.kept = 0
        """about how many links there were when it was stored, ``since`` events ago"""
        self.since = 0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to remember."""
        return not self.partials and not self.completed

    def links(self) -> list[Link]:
        """All links, each behind the one that it leads back to."""
        return links_of([partial[1] for both in (self.partials, self.completed) for partial in both])

    def __reduce__(self) -> Any:
        return _unpack, (_packed(self, self.links()),)


def store(state: KeyState, events: int = 1) -> Stored:
    """The form in which a state is kept, so many events after it was stored last."""
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
"""Rows share the list of their names."""


def _values(row: Row) -> tuple[Any, ...]:
    """What there is to a row.

    :raises ValueError: more than its names and values.
    """
    if row._row_kind is not RowKind.INSERT:
        raise ValueError
    fields = row._fields
    return None if fields is None else tuple(fields), row._values


def _row(values: tuple[Any, ...]) -> Row:
    names, cells = values
    return row_of(cells, None if names is None else _shared_names.setdefault(names, list(names)))


_SINGLE, _WHOLE = 5, 3
"""lengths of the two forms; those of ``earlier_state`` have others"""


def _packed(state: KeyState, links: list[Link], plain: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
    """Plain data. A single event that has begun a match, the most frequent case, takes the least.

    :param plain: what makes plain data of an event.
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
        state.time, state.event_number, state.partials, state.completed = earlier_state.unpacked(packed, made)
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
