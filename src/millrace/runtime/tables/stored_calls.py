"""The layout of accumulators in an operator's state, call by call, and which of them a changed query can reuse.

A query with the same groups may have other aggregates than before. Calls that still exist, in any position and also
with wider types, reuse their slots and entries; state of removed calls is dropped. The past rows are unknown to a new
call: it starts empty where that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from millrace.relational.rules.plan_text import changed
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.stored_rows import Adapt, KeptRows, StoredRows, kept_rows
from millrace.runtime.tables.stored_types import NotKeptError, widens

BEGIN_EMPTY = "millrace.table.aggregate.new-begin-empty"
"""name of the option"""

Accumulator = tuple[Any, ...]
OF_SESSIONS, OF_COUNTED, OF_VALUES = "sessions", "counted windows", "windows beside values"
OF_WHOLE_WINDOWS = "whole windows"
"""containers of accumulators: sessions of a key, counted windows of a key, windows with values in rows of their own,
and windows that overlap but have no slices"""
_WITH_SLICES = {"", OF_VALUES}
"""containers between which the accumulators stay the same"""


@dataclass(frozen=True)
class StoredCall:
    """The layout of one aggregate call."""

    text: str
    """the computation and its columns, as text"""
    types: tuple[str, ...]
    """types of the call's result and its arguments"""
    how: str
    """the way in which the value is computed"""
    slots: tuple[str, ...]
    """types of the slots that have a fixed type"""
    width: int
    """number of slots"""
    entries: str = ""
    """name of the state with the stored values"""
    distinct: str = ""
    """name of the state with DISTINCT values"""
    filters: tuple[str, ...] = ()
    """the filters for which DISTINCT values are counted, in order"""
    need: tuple[int, int, bool] | None = None
    """for a call that needs earlier rows: (number of rows, time in ms or -1 if it doesn't matter, whether it needs all
    rows); None for other calls"""
    counted: bool | None = None
    """whether the occurrences of each DISTINCT value are counted; None: the call has no DISTINCT, or an earlier version
    did not record it"""
    name: str = ""
    """the query's name of its result, as readers of a savepoint see it; a changed name changes no state"""

    @property
    def is_mergeable(self) -> bool:
        """Whether it has nothing but slots of fixed types, which are merged slice by slice."""
        return not (self.entries or self.distinct) and len(self.slots) == self.width


def _call(plain: dict[str, Any]) -> StoredCall:
    several: dict[str, Any] = {name: tuple(plain[name]) for name in ("types", "slots", "filters")}
    need = plain.get("need")
    return StoredCall(**{**plain, **several, "need": None if need is None else tuple(need)})


@dataclass(frozen=True)
class StoredCalls:
    """The layout of all state of an operator that aggregates, or that stores rows."""

    state: str
    """name of the state with the accumulators"""
    groups: tuple[str, ...]
    """the parts of the operator's meaning that define its groups"""
    keys: tuple[str, ...]
    """types of the key columns"""
    calls: tuple[StoredCall, ...] = ()
    shape: str = ""
    """what contains the accumulators: one of those above, or nothing"""
    first: int = 1
    """index of the calls' first slot; the slots before count rows"""
    rows: tuple[StoredRows, ...] = ()
    """states that contain rows"""
    key_names: tuple[str, ...] = ()
    """the query's names of the key columns"""

    def plain(self) -> dict[str, Any]:
        """The layout as plain JSON."""
        return asdict(self)

    @staticmethod
    def of(plain: dict[str, Any]) -> StoredCalls:
        several = {name: tuple(plain.get(name, ())) for name in ("groups", "keys", "key_names")}
        calls, rows = map(_call, plain["calls"]), map(StoredRows.of, plain.get("rows", ()))
        return StoredCalls(**{**plain, **several, "calls": tuple(calls), "rows": tuple(rows)})

    @property
    def places(self) -> list[int]:
        """The index of each call's first slot."""
        found, place = [], self.first
        for call in self.calls:
            found.append(place)
            place += call.width
        return found


@dataclass(frozen=True)
class Kept:
    """How stored accumulators and rows are converted for a changed query."""

    state: str
    slots: tuple[int | None, ...]
    """index before of each present slot; None: the slot is new"""
    zeros: Accumulator
    """initial values of new slots"""
    names: dict[str, str]
    """name of a further state of a call before -> its name now"""
    others: frozenset[str]
    """names of all further states of calls before"""
    shape: str = ""
    rows: tuple[KeptRows, ...] = ()
    fewer: bool = False
    """whether there were more slots before"""

    @property
    def changes_nothing(self) -> bool:
        same = self.slots == tuple(range(len(self.slots))) and not self.fewer
        same = same and all(each.changes_nothing for each in self.rows)
        return same and all(self.names.get(name) == name for name in self.others)

    def convert(self, accumulator: Accumulator) -> Accumulator:
        slots = zip(self.slots, self.zeros)
        return tuple(zero if place is None else accumulator[place] for place, zero in slots)

    def convert_value(self, value: Any) -> Any:
        """Convert the value at an address of the state with the accumulators."""
        if self.shape == OF_SESSIONS:
            return tuple([each._replace(content=self.convert(each.content)) for each in value])
        if self.shape == OF_COUNTED:
            return value[0], {window: self.convert(each) for window, each in value[1].items()}
        return self.convert(value)

    def apply(self, full: KeyedDelta, adapt: Adapt) -> KeyedDelta:
        """Convert a full state to the present layout."""
        return dict(self._converted(full, adapt))

    def _converted(self, full: KeyedDelta, adapt: Adapt) -> Iterator[tuple[str, tuple[str, Any]]]:
        with_rows = {each.now.state: each for each in self.rows}
        for name, (kind, entries) in full.items():
            if name in with_rows:
                yield name, (kind, with_rows[name].convert(kind, entries, adapt))
            elif name == self.state and kind == WindowTable.kind:
                rows = {
                    end: (fresh, {key: self.convert(each) for key, each in row.items()})
                    for end, (fresh, row) in entries.items()
                }
                yield name, (kind, rows)
            elif name == self.state:
                yield name, (kind, adapt(kind, entries, self.convert_value))
            elif name not in self.others:
                yield name, (kind, entries)
            elif name in self.names:
                yield self.names[name], (kind, entries)


def check_counted(before: StoredCalls, now: StoredCalls) -> None:
    """:raises NotKeptError: rows may be retracted now, but the occurrences of their values were not counted before."""
    known = {call.text: call for call in before.calls}
    for call in now.calls:
        stored = known.get(call.text)
        if call.counted and stored is not None and stored.counted is False:
            raise NotKeptError(
                f"has an input that takes rows back now; how often the values of {call.text} were there was not counted"
            )


def kept(before: StoredCalls, now: StoredCalls, zeros: Accumulator, begin_empty: bool) -> Kept:
    """The conversion of the state of an earlier query.

    :param zeros: the present accumulator of no rows.
    :param begin_empty: whether new calls may start empty.
    :raises NotKeptError: the earlier state can't be used.
    """
    other_groups = changed(before.groups, now.groups)
    if other_groups is not None or before.state != now.state:
        raise NotKeptError(other_groups or "aggregates other windows")
    if len(before.keys) != len(now.keys) or not all(map(widens, before.keys, now.keys)):
        raise NotKeptError(f"has keys of types {', '.join(now.keys)}; before {', '.join(before.keys)}")
    same_shape = before.shape == now.shape or {before.shape, now.shape} == _WITH_SLICES
    if not same_shape or before.first != now.first:
        raise NotKeptError("keeps its aggregates in another way")
    known = {call.text: (place, call) for place, call in zip(before.places, before.calls)}
    slots: list[int | None] = list(range(now.first))
    names: dict[str, str] = {}
    for call in now.calls:
        place, stored = known.get(call.text, (0, None))
        if stored is None and call.need is not None:
            _refuse_blind(call, before)
            continue
        if stored is None:
            _refuse_new(call, before, now, begin_empty)
            slots += [None] * call.width
            continue
        _check(stored, call)
        slots += range(place, place + call.width)
        names |= {old: new for old, new in ((stored.entries, call.entries), (stored.distinct, call.distinct)) if old}
    others = {name for call in before.calls for name in (call.entries, call.distinct) if name}
    of_state = {each.state: each for each in before.rows}
    rows = [kept_rows(of_state[each.state], each) for each in now.rows if each.state in of_state]
    others |= of_state.keys() - {each.state for each in now.rows}
    fewer = len(slots) < before.first + sum(call.width for call in before.calls)
    return Kept(now.state, tuple(slots), zeros, names, frozenset(others), now.shape, tuple(rows), fewer)


def _refuse_blind(call: StoredCall, before: StoredCalls) -> None:
    """Refuse a new call, unless the rows that it needs were stored for other calls. Whether their columns fit is
    checked later."""
    assert call.need is not None
    (rows, span, everything), needs = call.need, [each.need for each in before.calls if each.need is not None]
    if any(each[2] for each in needs):
        return  # all rows are there
    enough = max((each[0] for each in needs), default=0) >= rows
    if everything or not enough or max((each[1] for each in needs), default=-1) < span:
        raise NotKeptError(f"has changed: {call.text} is new, and rows that it looks back at were not kept until now")


def _refuse_new(call: StoredCall, before: StoredCalls, now: StoredCalls, begin_empty: bool) -> None:
    texts = {each.text for each in now.calls}
    gone = [each.text for each in before.calls if each.text not in texts]
    if not begin_empty:
        what = f"what was {', '.join(gone)} is {call.text}" if gone else f"{call.text} is new"
        raise NotKeptError(
            f"has changed: {what}, and of the rows until now nothing of it is known ({BEGIN_EMPTY}=true lets new "
            f"aggregates begin with nothing, and the others go on)"
        )
    shares = [each for each in now.calls if call.distinct and each.distinct == call.distinct and each is not call]
    if any(each.text in {old.text for old in before.calls} for each in shares):
        raise NotKeptError(f"has changed: {call.text} is new, and would share its values with {shares[0].text}")


def _check(before: StoredCall, now: StoredCall) -> None:
    same = (before.how, before.width, len(before.types), before.filters, bool(before.entries), bool(before.distinct))
    if same != (now.how, now.width, len(now.types), now.filters, bool(now.entries), bool(now.distinct)):
        raise NotKeptError(f"computes {now.text} in another way: from other kinds of changes, or with other filters")
    both = zip((*before.types, *before.slots), (*now.types, *now.slots))
    if len(before.slots) != len(now.slots) or not all(widens(old, new) for old, new in both):
        types = f"types {', '.join(now.types)}; before {', '.join(before.types)}"
        raise NotKeptError(f"has {now.text} of other types, which do not hold all of the values before: {types}")


def filters_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The distinct filters, in the order of their first occurrence."""
    return tuple(dict.fromkeys(texts))
