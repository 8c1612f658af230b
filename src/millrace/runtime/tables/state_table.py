"""The keyed states of a query's operator as tables: names and types of their columns, for readers of a savepoint.

The description is plain data that a checkpoint records, so that reading it takes no program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.runtime.tables.stored_calls import OF_COUNTED, OF_SESSIONS, OF_VALUES, StoredCall, StoredCalls
from millrace.runtime.tables.stored_rows import NUMBERED, SIDE, StoredRows

ACCUMULATORS, NESTED, VALUES = "accumulators", "nested accumulators", "values"
"""forms of states of aggregates, beside those of ``stored_rows``: the slots of a key; the slots of each call of a key;
values of a call, each with its counts or its positions"""
SESSIONS, COUNTED = "accumulators of sessions", "accumulators of counted windows"
_SHAPES = {OF_SESSIONS: SESSIONS, OF_COUNTED: COUNTED}
ROW_COUNT = "row_count"
"""the column of a group's number of rows"""

_SQL_TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "large_string": "STRING",
    "binary": "BYTES",
    "large_binary": "BYTES",
    "date32[day]": "DATE",
    "time64[us]": "TIME(6)",
    "timestamp[us]": "TIMESTAMP(6)",
    "timestamp[us, tz=UTC]": "TIMESTAMP_LTZ(6)",
}
"""text of an Arrow type -> the type in SQL"""
_DECIMAL = re.compile(r"decimal(?:128)?(\(\d+, \d+\))")
_TYPED_SLOT = frozenset({"KeptExtremum"})
"""ways to compute a call whose only slot has the type of the result"""
_COUNTED_VALUES = frozenset({"KeptCounts", "KeptExtremum"})
_PLACED_VALUES = frozenset({"KeptPlaces"})


@dataclass(frozen=True)
class StateTable:
    """A keyed state as a table. A type is that of SQL; "" stands for values of any class."""

    state: str
    """name of the state"""
    form: str
    """how rows are stored: a form of ``stored_rows``, or one of those of aggregates"""
    names: tuple[str, ...]
    """names of the row's columns"""
    types: tuple[str, ...]
    key_names: tuple[str, ...] = ()
    """names of the key's columns, where the row does not contain them"""
    key_types: tuple[str, ...] = ()
    by_unique: bool = False
    """for a side of a join, whether entries are found by the columns that identify a row, and contain the row"""
    counts: tuple[str, ...] = ()
    """names of the numbers that are stored with each row or value"""

    @property
    def type(self) -> str:
        """The columns of key and row as a type, for a list of states."""
        columns = zip((*self.key_names, *self.names), (*self.key_types, *self.types))
        return f"TABLE<{', '.join(f'{name} {kind}'.rstrip() for name, kind in columns)}>"

    @staticmethod
    def of(plain: dict[str, Any]) -> StateTable:
        """Made from plain JSON."""
        several: dict[str, Any] = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
        return StateTable(**{**plain, **several})


def tables_of(layout: StoredCalls) -> tuple[StateTable, ...]:
    """The tables of a layout of state. States whose content has no columns are left out."""
    return (*(_of_rows(layout, rows) for rows in layout.rows), *_of_calls(layout))


def _of_rows(layout: StoredCalls, rows: StoredRows) -> StateTable:
    width = len(rows.types)
    names = (*rows.names[:width], *rows.columns[len(rows.names) :])
    names = distinct((*names, *(f"c{place}" for place in range(len(names), width))))
    if rows.form == NUMBERED and layout.keys:  # what OVER retains of a row is without its partition
        key = _key_names(layout)
        return StateTable(rows.state, rows.form, distinct((*key, *names))[len(key) :], rows.types, key, layout.keys)
    if rows.form != SIDE:
        return StateTable(rows.state, rows.form, names, rows.types)
    copies = ("copies",) if rows.unique is None else ()
    partners = ("partners",) if rows.counts else ()
    by_unique = rows.unique is not None
    return StateTable(rows.state, rows.form, names, rows.types, by_unique=by_unique, counts=(*copies, *partners))


def _key_names(layout: StoredCalls) -> tuple[str, ...]:
    return distinct(layout.key_names or [f"c{place}" for place in range(len(layout.keys))])


def _of_calls(layout: StoredCalls) -> Iterator[StateTable]:
    if not layout.state:
        return
    count, key = len(layout.keys), (_key_names(layout), layout.keys)
    counted = layout.first == 1
    columns = [(ROW_COUNT, "BIGINT")] if counted else []
    calls = [_slots_of(call) for call in layout.calls]
    columns += [column for each in calls for column in each]
    # OVER has a tuple of slots for each call that folds; the others have none.
    form = _SHAPES.get(layout.shape, ACCUMULATORS) if counted else NESTED
    if columns:
        names, types = zip(*columns)
        yield StateTable(layout.state, form, distinct((*key[0], *names))[count:], types, *key)
    known = set[str]()
    for call in layout.calls if layout.shape != OF_VALUES else ():  # they are by window, and shown as they are stored
        for state, counts in _values_of(call):
            if state and state not in known:
                known.add(state)
                args = distinct(["value"] * (len(call.types) - 1))
                yield StateTable(state, VALUES, args, call.types[1:], *key, counts=counts)


def _slots_of(call: StoredCall) -> list[tuple[str, str]]:
    """(name, type) of the columns of a call's accumulator."""
    name = call.text if not call.name or call.name.startswith(("EXPR$", "$")) else call.name
    types = [sql_type(each) for each in call.slots]
    if not types:
        types = [call.types[0] if call.how in _TYPED_SLOT else ""] * call.width
    return [(name if not place else f"{name}_{place + 1}", kind) for place, kind in enumerate(types)]


def _values_of(call: StoredCall) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(name of a state with values of a call, names of what is stored with each)."""
    if call.how in _COUNTED_VALUES:
        yield call.entries, ("copies",)
    elif call.how in _PLACED_VALUES:
        yield call.entries, ("places",)
    conditions = [f"copies where {each}".removesuffix(")") if each else "copies" for each in call.filters]
    yield call.distinct, distinct(conditions or ["copies"])


def sql_type(arrow: str) -> str:
    """The type in SQL for the text of an Arrow type; "" if it has none."""
    decimal = _DECIMAL.fullmatch(arrow)
    return f"DECIMAL{decimal[1]}" if decimal is not None else _SQL_TYPES.get(arrow, "")


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, of which later ones that are equal to others have numbers."""
    found: dict[str, None] = {}
    for name in names:
        number, unused = 2, name
        while unused in found:
            unused, number = f"{name}_{number}", number + 1
        found[unused] = None
    return tuple(found)
