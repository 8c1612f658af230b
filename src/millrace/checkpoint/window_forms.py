"""Converts the open windows of one operator to those of another: a program that changes its trigger may change the
operator, and with it the stored form of open windows (ADR 9).

Every form can be converted to the state that the general operator would have had: then it continues as in Flink. The
way back is possible if the windows are the same and they have only had the default trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millrace.checkpoint.folder import RestoreError
from millrace.common.window import TimeWindow
from millrace.runtime.bases.operator import EventTimeOf
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import EVENT_TIMERS, PROCESSING_TIMERS, TIMERS, KeyedDelta, KeyedStateBackend
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.windows.aligned_window import SLICES
from millrace.runtime.windows.choice import ALIGNED, EVICTING, GENERAL, SESSIONS, describe_windows, slicing_from
from millrace.runtime.windows.slicing import CONTENTS, Slicing, WindowStrategy
from millrace.runtime.windows.window_contents import SliceLayout, WindowLayout, fold_of
from millrace.runtime.windows.window_operator import MERGING

__all__ = ["WindowFormError", "check_windows", "convert_windows"]


Described = dict[str, Any]
Entries = dict[Any, Any]

_STATES = (CONTENTS, SLICES, MERGING, EVENT_TIMERS, PROCESSING_TIMERS)
_FOLDED = {ALIGNED: "windows", SESSIONS: "sessions", GENERAL: "value"}
_ELEMENTS = {ALIGNED: "window lists", GENERAL: "list", EVICTING: "list"}
"""form -> kind of the table of contents"""
_DRAIN = "stop the earlier job with --drain, so that no window is open, or give the window another uid: it begins empty"


class WindowFormError(RestoreError):
    """Open windows can't be restored in this program."""


def check_windows(stored: Described, strategy: WindowStrategy) -> str | None:
    """Why windows stored with this description can't be restored, with the fix; None if they can, as far as the
    description shows."""
    now = describe_windows(strategy)
    forms = (stored["form"], now["form"])
    for what, name in (("time", "time"), ("contents", "contents"), ("merging", "merging windows")):
        if stored[what] != now[what]:
            return f"its windows had {name} {stored[what]!r} and have {now[what]!r} now; {_DRAIN}"
    if forms[0] == forms[1]:
        if forms[0] == ALIGNED and stored["slicing"] != now["slicing"]:
            return (
                f"open windows of {_text(stored)} can't be told from those of {_text(now)}; keep the earlier windows, "
                f"or {_DRAIN}"
            )
        return None
    if EVICTING in forms:
        gained = forms[1] == EVICTING
        return (
            f"it {'has got' if gained else 'has lost'} an evictor, for which elements are kept in another way; "
            f"{'remove' if gained else 'keep'} the evictor, or {_DRAIN}"
        )
    if forms[1] != GENERAL and not stored["fires_at_end"]:
        trigger = stored["trigger"]
        return f"its trigger was {trigger}, whose work {now['trigger']} can't go on with; keep it, or {_DRAIN}"
    return None


def convert_windows(
    pieces: Iterable[KeyedDelta], stored: Described | None, strategy: WindowStrategy, fired: EventTimeOf
) -> Iterator[KeyedDelta]:
    """The keyed state of a window operator, converted to the form of the operator for ``strategy``.

    :param stored: ``describe_windows`` of the strategy that wrote it; None: the same strategy, but the form must be
        found out from the state.
    :param fired: key -> time up to which its windows have fired (ms).
    :raises WindowFormError: the conversion is impossible.
    """
    now = describe_windows(strategy)
    if stored is not None and stored["form"] == now["form"]:
        _refuse(check_windows(stored, strategy))
        yield from pieces
        return
    collected = KeyedStateBackend()
    for piece in pieces:
        collected.apply({name: change for name, change in piece.items() if name in _STATES})
        yield {name: change for name, change in piece.items() if name not in _STATES}
    state = collected.full()
    if stored is None:
        stored = {**now, "form": _form_of(state, now["form"])}
    _refuse(check_windows(stored, strategy))
    yield _converted(state, stored, now, strategy, fired)


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise WindowFormError(problem)


def _form_of(state: KeyedDelta, otherwise: str) -> str:
    for name in (CONTENTS, SLICES):
        if name in state:
            kinds = {**{kind: form for form, kind in _FOLDED.items()}, "window lists": ALIGNED, "list": GENERAL}
            found = kinds[state[name][0]]
            return EVICTING if (found, otherwise) == (GENERAL, EVICTING) else found
    return otherwise


def _converted(
    state: KeyedDelta, stored: Described, now: Described, strategy: WindowStrategy, fired: EventTimeOf
) -> KeyedDelta:
    before, after = stored["form"], now["form"]
    if before == after:
        return state
    kinds = _FOLDED if now["contents"] == "folded" else _ELEMENTS
    if after == GENERAL:
        opened = _OpenWindows(strategy, fired)
        if before == SESSIONS:
            _add_sessions(opened, state)
        else:
            _add_aligned(opened, state, _slicing(stored), strategy)
        return opened.state(kinds[GENERAL])
    if after == SESSIONS:
        return {CONTENTS: (kinds[SESSIONS], _sessions(state))}
    return {CONTENTS: (kinds[ALIGNED], _by_window(state, slicing_from(now), now))}


def _slicing(stored: Described) -> Slicing:
    if stored["slicing"] is None:
        raise WindowFormError(
            f"the savepoint does not tell which windows are open in it, and {stored['assigner']} is not what they are "
            f"of; {_DRAIN}"
        )
    return slicing_from(stored)


# -- to the general form ----------------------------------------------------------------------------------------------


class _OpenWindows:
    """The contents and timers that the general operator has for open windows, if its trigger is the default one."""

    def __init__(self, strategy: WindowStrategy, fired: EventTimeOf) -> None:
        self._event_time, self._lateness = strategy.is_event_time, strategy.allowed_lateness
        self._fired = fired
        self._contents: Entries = {}
        self._timers: Entries = {}
        self._merged: Entries = {}
        self._merging = strategy.is_merging

    def add(self, key: Any, window: TimeWindow, content: Any) -> None:
        last, fired = window.max_timestamp(), self._fired(key)
        cleanup = min(last + self._lateness, MAX_WATERMARK) if self._event_time else last
        if self._event_time and cleanup <= fired:
            return
        at = Scoped(key, window)
        self._contents[at] = content
        if not self._event_time or last > fired:
            self._timers.setdefault((last, at), len(self._timers))
        if cleanup != MAX_WATERMARK:
            self._timers.setdefault((cleanup, at), len(self._timers))
        if self._merging:
            self._merged.setdefault(key, (True, {}, []))[1][window] = window

    def state(self, kind: str) -> KeyedDelta:
        queue = EVENT_TIMERS if self._event_time else PROCESSING_TIMERS
        found = {CONTENTS: (kind, self._contents), MERGING: ("map", self._merged), queue: (TIMERS, self._timers)}
        return {name: (kind, entries) for name, (kind, entries) in found.items() if entries}


def _add_aligned(opened: _OpenWindows, state: KeyedDelta, slicing: Slicing, strategy: WindowStrategy) -> None:
    windows = {end: dict(row) for end, (_, row) in _entries(state, CONTENTS).items()}
    if SLICES in state:
        shared = _shared(state, slicing, strategy)
        for end in shared.ends():
            windows[end] = {**shared.contents(end), **windows.get(end, {})}
    for end in sorted(windows):
        for key, content in windows[end].items():
            opened.add(key, slicing.window(end), content)


def _shared(state: KeyedDelta, slicing: Slicing, strategy: WindowStrategy) -> SliceLayout:
    """The windows of which the state contains only slices."""
    table = WindowTable()
    table.apply(state[SLICES][1])
    return SliceLayout(slicing, table, fold_of(strategy.contents), WindowLayout(slicing, WindowTable()))


def _add_sessions(opened: _OpenWindows, state: KeyedDelta) -> None:
    for key, sessions in _entries(state, CONTENTS).items():
        for start, end, content in sessions:
            opened.add(key, TimeWindow(start, end), content)


# -- from the general form --------------------------------------------------------------------------------------------


def _by_window(state: KeyedDelta, slicing: Slicing, now: Described) -> Entries:
    rows: Entries = {}
    for (key, window), content in _entries(state, CONTENTS).items():
        if type(window) is not TimeWindow or slicing.window(window.end) != window:
            raise WindowFormError(
                f"{window!r} of key {key!r} is open, which is no window of {_text(now)}; keep the earlier windows, or "
                f"{_DRAIN}"
            )
        rows.setdefault(window.end, (True, {}))[1][key] = content
    return rows


def _sessions(state: KeyedDelta) -> Entries:
    contents, sessions = _entries(state, CONTENTS), {}
    for key, (_, windows, _) in _entries(state, MERGING).items():
        found = [
            [*window, contents[Scoped(key, stored)]]
            for window, stored in windows.items()
            if Scoped(key, stored) in contents
        ]
        sessions[key] = sorted(found, key=lambda session: session[0])
    return {key: found for key, found in sessions.items() if found}


def _entries(state: KeyedDelta, name: str) -> Entries:
    entries: Entries = state[name][1] if name in state else {}
    return entries


def _text(described: Described) -> str:
    slicing = described["slicing"]
    if slicing is None:
        return str(described["assigner"])
    numbers = ", ".join(f"{name} {value}" for name, value in slicing.items() if name != "kind")
    return f"{described['assigner']} ({numbers} ms)"
