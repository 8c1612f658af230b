"""How the accumulators of an operator lie in its state, call by call: what a changed query may keep of them.

A query that has the same groups may have other aggregates than before. Those that are still there, in any place and
also with wider types, go on with their slots and entries; those that are gone are dropped. For a new one nothing is
known of the rows that have been: it begins with nothing where that is allowed.
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
"""the option"""

Accumulator = tuple[Any, ...]
OF_SESSIONS, OF_COUNTED = "sessions", "counted windows"
"""values with accumulators in them"""


@dataclass(frozen=True)
class StoredCall:
    """One aggregate call."""

    text: str
    """what it computes, of which columns"""
    types: tuple[str, ...]
    """of its result and its arguments"""
    how: str
    """how it comes to its value"""
    slots: tuple[str, ...]
    """their types, as far as they have some"""
    width: int
    """the number of its slots"""
    entries: str = ""
    """name of the state with the values that it keeps"""
    distinct: str = ""
    """name of the state with the values of DISTINCT"""
    filters: tuple[str, ...] = ()
    """those that the values of DISTINCT are counted for, in their order"""
    need: tuple[int, int, bool] | None = None
    """of one that looks back: how many rows, how long (ms; -1: no matter), and whether it sees all"""
    counted: bool | None = None
    """whether it is known how often each value of DISTINCT is there; None: it has none, or that was not said"""


def _call(plain: dict[str, Any]) -> StoredCall:
    several: dict[str, Any] = {name: tuple(plain[name]) for name in ("types", "slots", "filters")}
    need = plain.get("need")
    return StoredCall(**{**plain, **several, "need": None if need is None else tuple(need)})


@dataclass(frozen=True)
class StoredCalls:
    """All that is in the state of an operator that aggregates, or that keeps rows."""

    state: str
    """name of the one with the accumulators"""
    groups: tuple[str, ...]
    """what the groups are: parts of the operator's meaning"""
    keys: tuple[str, ...]
    """types of the columns of the key"""
    calls: tuple[StoredCall, ...] = ()
    shape: str = ""
    """what the accumulators are in: ``OF_SESSIONS``, ``OF_COUNTED``, or nothing"""
    first: int = 1
    """where the slots of the calls begin: those before count rows"""
    rows: tuple[StoredRows, ...] = ()
    """states with rows"""

    def plain(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)

    @staticmethod
    def of(plain: dict[str, Any]) -> StoredCalls:
        several = {name: tuple(plain[name]) for name in ("groups", "keys")}
        calls, rows = map(_call, plain["calls"]), map(StoredRows.of, plain.get("rows", ()))
        return StoredCalls(**{**plain, **several, "calls": tuple(calls), "rows": tuple(rows)})

    @property
    def places(self) -> list[int]:
        """Where the slots of each call begin."""
        found, place = [], self.first
        for call in self.calls:
            found.append(place)
            place += call.width
        return found


@dataclass(frozen=True)
class Kept:
    """What becomes of stored accumulators and rows."""

    state: str
    slots: tuple[int | None, ...]
    """of each slot now: its place before; None: it is new"""
    zeros: Accumulator
    """what new slots begin with"""
    names: dict[str, str]
    """of the states that calls have besides: name before -> name now"""
    others: frozenset[str]
    """all of these names, before"""
    shape: str = ""
    rows: tuple[KeptRows, ...] = ()
    fewer: bool = False
    """whether there were more slots"""

    @property
    def changes_nothing(self) -> bool:
        same = self.slots == tuple(range(len(self.slots))) and not self.fewer
        same = same and all(each.changes_nothing for each in self.rows)
        return same and all(self.names.get(name) == name for name in self.others)

    def convert(self, accumulator: Accumulator) -> Accumulator:
        slots = zip(self.slots, self.zeros)
        return tuple(zero if place is None else accumulator[place] for place, zero in slots)

    def convert_value(self, value: Any) -> Any:
        """What lies at an address of the state with the accumulators."""
        if self.shape == OF_SESSIONS:
            return tuple([each._replace(content=self.convert(each.content)) for each in value])
        if self.shape == OF_COUNTED:
            return value[0], {window: self.convert(each) for window, each in value[1].items()}
        return self.convert(value)

    def apply(self, full: KeyedDelta, adapt: Adapt) -> KeyedDelta:
        """Some full state in the form of now."""
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
    """:raises NotKeptError: rows may be taken back now, and it is not known how often their values were there."""
    known = {call.text: call for call in before.calls}
    for call in now.calls:
        stored = known.get(call.text)
        if call.counted and stored is not None and stored.counted is False:
            raise NotKeptError(
                f"has an input that takes rows back now; how often the values of {call.text} were there was not counted"
            )


def kept(before: StoredCalls, now: StoredCalls, zeros: Accumulator, begin_empty: bool) -> Kept:
    """What of the state before goes on.

    :param zeros: an accumulator of nothing, now.
    :param begin_empty: whether calls that are new may begin with nothing.
    :raises NotKeptError: it can't.
    """
    other_groups = changed(before.groups, now.groups)
    if other_groups is not None or before.state != now.state:
        raise NotKeptError(other_groups or "aggregates other windows")
    if len(before.keys) != len(now.keys) or not all(map(widens, before.keys, now.keys)):
        raise NotKeptError(f"has keys of types {', '.join(now.keys)}; before {', '.join(before.keys)}")
    if (before.shape, before.first) != (now.shape, now.first):
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
    """A new call goes on only if the rows that it looks back at were stored for others; which columns these have shows
    later."""
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
    """The different ones, in the order in which they first come."""
    return tuple(dict.fromkeys(texts))
