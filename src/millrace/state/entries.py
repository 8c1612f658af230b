"""The entries of the runtime's tables as (key, value) pairs as users know them, and their changes by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.common.window import TimeWindow
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import EVENT_TIMERS, TIMERS
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.windows.aligned_window import SLICES

__all__ = ["Change", "Slice", "Timer", "changed", "changed_operator_state", "operator_state_pairs", "pairs"]

Entries = dict[Any, Any]
Change = Callable[[Any, Any], Any]
"""(key, value) -> the new value; None removes the entry"""


class Slice(NamedTuple):
    """A part of several windows, which they share.

    >>> Slice(60_000).end
    60000
    """

    end: int
    """end of the slice (ms)"""


class Timer(NamedTuple):
    """A timer that is set.

    >>> Timer("event_time", 5000).timestamp
    5000
    """

    domain: str
    """``event`` or ``processing``"""
    timestamp: int
    """when the timer fires (ms)"""


# -- one content ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """The stored form of the content of one address."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]
    """(new value, stored content) -> the content to store; None for an empty list or map"""


def _write_list(value: Any, stored: Any) -> Any:
    return (0, list(value)) if value else None


def _write_map(value: Any, stored: Any) -> Any:
    return (True, dict(value), []) if value else None


def _write_ttl_list(value: Any, stored: Any) -> Any:
    # Elements keep their times of access by position; a new element gets the latest of them.
    stamps = [stamp for stamp, _ in stored[1]]
    stamps += [max(stamps)] * (len(value) - len(stamps))
    return (0, list(zip(stamps, value))) if value else None


def _write_ttl_map(value: Any, stored: Any) -> Any:
    entries = stored[1]
    latest = max(stamp for stamp, _ in entries.values())
    return (True, {k: (entries[k][0] if k in entries else latest, v) for k, v in value.items()}, []) if value else None


def _write_buffer(value: Any, stored: Any) -> Any:
    ordered = sorted(value, key=lambda element: element[0])
    return ([time for time, _ in ordered], [element for _, element in ordered]) if value else None


_VALUE = _Form(lambda stored: stored, lambda value, stored: value)
_LIST = _Form(lambda stored: list(stored[1]), _write_list)
_BUFFER = _Form(lambda stored: list(zip(*stored)), _write_buffer)
_FORMS = {
    "value": _VALUE,
    "list": _LIST,
    "map": _Form(lambda stored: dict(stored[1]), _write_map),
    "TTL value": _Form(lambda stored: stored[1], lambda value, stored: (stored[0], value)),
    "TTL list": _Form(lambda stored: [value for _, value in stored[1]], _write_ttl_list),
    "TTL map": _Form(lambda stored: {key: value for key, (_, value) in stored[1].items()}, _write_ttl_map),
    "windows": _VALUE,
    "window lists": _LIST,
    "time buffers": _BUFFER,
    "row buffers": _BUFFER,
    "event buffers": _BUFFER,
}
_SHAPES: dict[str, tuple[type, ...]] = {
    "list": (list, tuple),
    "TTL list": (list, tuple),
    "window lists": (list, tuple),
    "time buffers": (list, tuple),
    "row buffers": (list, tuple),
    "event buffers": (list, tuple),
    "map": (dict,),
    "TTL map": (dict,),
}
_BY_WINDOW = frozenset({"windows", "window lists"})


# -- keyed state ------------------------------------------------------------------------------------------------------


def pairs(state: str, kind: str, entries: Entries) -> Iterator[tuple[Any, Any]]:
    """(key, value) of all entries. For state of a window the key is (key, window), where the window is its end (ms) if
    only that is stored, or a ``Slice``."""
    if kind == TIMERS:
        domain = "event" if state == EVENT_TIMERS else "processing"
        yield from ((at, Timer(domain, timestamp)) for timestamp, at in entries)
    elif kind == "sessions":
        for key, sessions in entries.items():
            yield from ((Scoped(key, TimeWindow(start, end)), content) for start, end, content in sessions)
    elif kind in _BY_WINDOW:
        read = _FORMS[kind].read
        for end, (_, row) in entries.items():
            window = _window(state, end)
            yield from ((Scoped(key, window), read(stored)) for key, stored in row.items())
    else:
        read = _FORMS[kind].read
        yield from ((at, read(stored)) for at, stored in entries.items())


def _window(state: str, end: int) -> int | Slice:
    return Slice(end) if state == SLICES else end


def changed(state: str, kind: str, entries: Entries, change: Change) -> Entries:
    """The entries with new values.

    :raises TypeError: the function returns a value of the wrong kind, or the entries are timers.
    """
    if kind == "sessions":
        changed_sessions = ((key, _sessions(key, sessions, change)) for key, sessions in entries.items())
        return {key: sessions for key, sessions in changed_sessions if sessions}
    if kind in _BY_WINDOW:
        rows: Entries = {}
        for end, (fresh, row) in entries.items():
            window = _window(state, end)
            new = _contents(kind, ((key, Scoped(key, window), stored) for key, stored in row.items()), change)
            if new:
                rows[end] = (fresh, new)
        return rows
    return _contents(kind, ((at, at, stored) for at, stored in entries.items()), change)


def _sessions(key: Any, sessions: Iterable[Any], change: Change) -> list[Any]:
    new = [[start, end, change(Scoped(key, TimeWindow(start, end)), content)] for start, end, content in sessions]
    return [session for session in new if session[2] is not None]


def _contents(kind: str, contents: Iterable[tuple[Any, Any, Any]], change: Change) -> Entries:
    """Change the contents, given as (address in the table, key to show, stored content)."""
    form, allowed = _FORMS[kind], _SHAPES.get(kind)
    new: Entries = {}
    for at, key, stored in contents:
        value = change(key, form.read(stored))
        if value is None:
            continue
        if allowed is not None and not isinstance(value, allowed):
            raise TypeError(
                f"the state holds a {allowed[0].__name__} for each key, but the function gave {value!r} for {key!r}"
            )
        entry = form.write(value, stored)
        if entry is not None:
            new[at] = entry
    return new


# -- operator state ---------------------------------------------------------------------------------------------------


def operator_state_pairs(distribution: str, subtask: int, entry: Any) -> Iterator[tuple[Any, Any]]:
    """(subtask, element) of a list, (key, value) of a broadcast state."""
    if distribution == Distribution.BROADCAST.value:
        yield from entry[1].items()
    else:
        yield from ((subtask, element) for element in entry[1])


def changed_operator_state(distribution: str, subtask: int, entry: Any, change: Change) -> Any:
    """The entry with new values."""
    values = [(key, change(key, value)) for key, value in operator_state_pairs(distribution, subtask, entry)]
    kept = [(key, value) for key, value in values if value is not None]
    if distribution == Distribution.BROADCAST.value:
        return (True, dict(kept), [])
    return (0, [value for _, value in kept])
