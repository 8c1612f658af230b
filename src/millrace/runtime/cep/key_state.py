"""What the automaton knows of one key: partial matches, matches that wait for earlier ones, and the buffer.

While it works a ``KeyState`` is changed in place. Stored, a small one is packed: into bytes where its events are plain
data, so that a million keys with one partial match each fit into memory. A large one stays as it is, since packing it
for every event would cost more than the event.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from millrace.common.types import Row, RowKind, row_of
from millrace.runtime.cep.buffer import EVENT, Nodes, Version

Partial = tuple[int, Version, int, int, int, int]
"""(number of the state, version, number of the last event's node, timestamp and id of the first event, timestamp of the
last one)"""
Stored = Any
"""bytes, a tuple, or a ``KeyState``"""

_SMALL = 6
"""nodes of a state that is packed"""


class KeyState:
    """The start state is not among the partial matches: only its version is kept."""

    __slots__ = ("completed", "event_number", "node_number", "nodes", "numbers", "partials", "run", "time")

    def __init__(self) -> None:
        self.run = 1
        """the version of the start state"""
        self.partials: list[Partial] = []
        """in the order of their first events"""
        self.numbers: bytearray | None = None
        """the numbers of their states, where there are many of them"""
        self.completed: list[Partial] = []
        """a heap"""
        self.nodes: Nodes = {}
        self.node_number = 0
        """of the next node"""
        self.time = 0
        """the timestamp of the last event that was taken, and how many of that time were"""
        self.event_number = 0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to remember."""
        return not self.partials and not self.completed

    def __reduce__(self) -> Any:
        return _unpack, (_packed(self),)


def store(state: KeyState) -> Stored:
    """The form in which a state is kept."""
    nodes = state.nodes
    if len(nodes) > _SMALL:
        return state
    if all(node[EVENT].__class__ is Row for node in nodes.values()):
        try:
            return marshal.dumps((_packed(state, _values),))
        except ValueError:  # with fields of classes
            return _packed(state)
    packed = _packed(state)
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


def _packed(state: KeyState, plain: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
    """Plain data. A single event that has begun a match, the most frequent case, takes the least.

    :param plain: what makes plain data of an event.
    """
    if len(state.partials) == 1 == len(state.nodes) and not state.completed:
        (partial,), (node,) = state.partials, state.nodes.values()
        number_of_state, version, _, _, _, _ = partial
        page, event, time, event_id, count, edges = node
        if event_id == 0 and count == 1 and len(version) == 2 and edges == [[None, version[:1], 1]] and not version[1]:
            if plain is not None:
                event = plain(event)
            return number_of_state, page, event, time, version[0], state.run
    nodes = tuple(
        (number, node[0], node[1] if plain is None else plain(node[1]), *node[2:5], tuple(map(tuple, node[5])))
        for number, node in state.nodes.items()
    )
    counters = (state.run, state.time, state.event_number, state.node_number)
    return counters, tuple(state.partials), tuple(state.completed), nodes


def _unpack(packed: tuple[Any, ...], made: Callable[[Any], Any] | None = None) -> KeyState:
    """The state again; ``made`` makes an event of its plain data."""
    state = KeyState()
    if len(packed) == 6:
        number_of_state, page, event, time, run, state.run = packed
        state.partials.append((number_of_state, (run, 0), 0, time, 0, time))
        state.nodes[0] = [page, event if made is None else made(event), time, 0, 1, [[None, (run,), 1]]]
        state.node_number = state.event_number = 1
        state.time = time
        return state
    (state.run, state.time, state.event_number, state.node_number), partials, completed, nodes = packed
    state.partials, state.completed = list(partials), list(completed)
    for number, page, event, time, event_id, count, edges in nodes:
        if made is not None:
            event = made(event)
        state.nodes[number] = [page, event, time, event_id, count, [list(edge) for edge in edges]]
    return state
