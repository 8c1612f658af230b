"""The output of ``millrace state``: aligned text, or JSON."""

from __future__ import annotations

import ast
import dataclasses
import datetime
import decimal
import enum
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.checkpoint.inert import PickledObject
from millrace.common.types import Row
from millrace.runtime.failure import shorten
from millrace.runtime.state.address import Scoped
from millrace.state.diff import NOTHING, Difference, Example, OperatorDifference, StateDifference
from millrace.state.open_savepoint import OperatorEntry, StateEntry

if TYPE_CHECKING:
    from millrace.checkpoint.metadata import Metadata
    from millrace.state import SavepointMetadata, TableColumn
    from millrace.state.open_savepoint import Opened
    from millrace.state.query_tables import Exported

WIDTH = 160
"""longest value that is shown (characters)"""


TYPE_WIDTH = 60
"""longest type of a state in a list of states (characters)"""


@dataclass(frozen=True)
class Page:
    """Which entries of each state are shown."""

    offset: int
    """the number of entries that are left out before them"""
    limit: int
    """the most entries"""


@dataclass(frozen=True)
class Shown:
    """Some entries of a state."""

    state: StateEntry
    pairs: tuple[tuple[Any, ...], ...]
    """(key, value) of each entry; the rows of a table"""
    more: bool
    """whether the state has more entries"""
    page: Page
    columns: Sequence[TableColumn] | None = None
    """the columns of a table; None: entries are pairs"""


# -- ls ---------------------------------------------------------------------------------------------------------------


def listing(metadata: SavepointMetadata, operators: Sequence[OperatorEntry]) -> str:
    lines = [
        f"{metadata.path}",
        f"{metadata.kind} of job {metadata.job_name!r} ({metadata.job_id}), epoch {metadata.id}, "
        f"{_time(metadata.time)}, {_size(metadata.size)}",
    ]
    for operator in operators:
        parallelism = f"parallelism {operator.parallelism}, at most {operator.max_parallelism}"
        lines += ["", f"{operator.name}  (uid {operator.uid}, {parallelism})"]
        if operator.states:
            rows = [("STATE", "KIND", "TYPE", "TTL", "ROWS", "SIZE"), *map(_state_row, operator.states)]
            lines += [f"  {line}" for line in aligned(rows, right=(4, 5))]
        else:
            lines.append("  no state")
    return "\n".join(lines)


def _state_row(state: StateEntry) -> tuple[str, ...]:
    size = "-" if state.bytes is None else _size(state.bytes)
    kind = state.type or "-"
    if len(kind) > TYPE_WIDTH:
        kind = f"{kind[:TYPE_WIDTH]}..."
    return (state.name, state.kind, kind, "yes" if state.ttl else "-", f"{state.rows:,}", size)


def listing_json(metadata: SavepointMetadata, operators: Sequence[OperatorEntry]) -> str:
    return _json({**dataclasses.asdict(metadata), "operators": [dataclasses.asdict(each) for each in operators]})


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _time(millis: int) -> str:
    moment = datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def aligned(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Lines with aligned columns; those in ``right`` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(_padded(row, widths, frozenset(right))).rstrip() for row in rows]


def _padded(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> Iterable[str]:
    for place, (text, width) in enumerate(zip(row, widths)):
        yield text.rjust(width) if place in right else text.ljust(width)


# -- show -------------------------------------------------------------------------------------------------------------


def matches(wanted: str) -> Callable[[Any], bool]:
    """Whether a key, or the key in (key, window), is the one that was typed."""
    candidates: list[Any] = [wanted]
    try:
        candidates.append(ast.literal_eval(wanted))
    except (ValueError, SyntaxError):
        pass

    def is_wanted(key: Any) -> bool:
        if isinstance(key, Scoped):
            key = key.key
        return key in candidates or wanted in (str(key), repr(key))

    return is_wanted


def entries(operator: OperatorEntry, found: Sequence[Shown]) -> str:
    if not found:
        return f"{operator.name}: no state"
    lines = []
    for shown in found:
        state = shown.state
        kind = _kind(state) if shown.columns is None else state.kind
        lines.append(f"{operator.name}: {state.name} ({kind}), {state.rows:,} rows")
        lines += [f"  {line}" for line in (_pair_lines if shown.columns is None else _table_lines)(shown)]
        if shown.more:
            page = shown.page
            lines.append(f"  ... and more (--limit {page.limit} --offset {page.offset + page.limit})")
        lines.append("")
    return "\n".join(lines[:-1])


def _pair_lines(shown: Shown) -> list[str]:
    rows = [(shorten(_plain_tuple(key), WIDTH), shorten(value, WIDTH)) for key, value in shown.pairs]
    return aligned(rows) if rows else []


def _table_lines(shown: Shown) -> list[str]:
    """A table with the names and types of its columns; numbers end below each other."""
    columns = shown.columns or ()
    rows = [tuple(map(_cell, row)) for row in shown.pairs]
    heads = [tuple(each.name for each in columns), tuple(each.type for each in columns)]
    right = [place for place, each in enumerate(columns) if each.type.split("(")[0] in _NUMBERS]
    lines = aligned([*heads, *rows], right)
    return [*lines[:2], "-" * max(map(len, lines)), *lines[2:]]


_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"})


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = (
        str(value) if isinstance(value, (str, decimal.Decimal, datetime.date, datetime.time)) else shorten(value, WIDTH)
    )
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


def _kind(state: StateEntry) -> str:
    return ", ".join(filter(None, (state.kind, state.type, "with time to live" if state.ttl else None)))


def _plain_tuple(key: Any) -> Any:
    """(key, window) as a plain tuple, which looks the same in timers."""
    if type(key) is tuple and key and isinstance(key[0], Scoped):
        return (tuple(key[0]), *key[1:])
    return tuple(key) if isinstance(key, Scoped) else key


def entries_json(operator: OperatorEntry, found: Sequence[Shown]) -> str:
    states = [{**dataclasses.asdict(shown.state), **_shown_json(shown), "more": shown.more} for shown in found]
    return _json({"uid": operator.uid, "name": operator.name, "states": states})


def _shown_json(shown: Shown) -> dict[str, Any]:
    if shown.columns is None:
        return {
            "entries": [{"key": jsonable(_plain_tuple(key)), "value": jsonable(value)} for key, value in shown.pairs]
        }
    names = [column.name for column in shown.columns]
    return {
        "columns": [column._asdict() for column in shown.columns],
        "entries": [dict(zip(names, map(jsonable, row))) for row in shown.pairs],
    }


# -- export -----------------------------------------------------------------------------------------------------------


def exported_text(found: Sequence[Exported]) -> str:
    rows = [("STATE", "ROWS", "SIZE", "FILE")]
    rows += [(each.state, f"{each.rows:,}", _size(each.bytes), each.path) for each in found]
    return "\n".join(aligned(rows, right=(1, 2))) if found else "no keyed state"


def exported_json(found: Sequence[Exported]) -> str:
    return _json([dataclasses.asdict(each) for each in found])


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def jsonable(value: Any) -> Any:
    """A value in JSON's types: records as objects; a value that JSON cannot represent becomes text."""
    if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, PickledObject):
        parts = {"args": value.args, "state": value.state, "items": value.items}
        return {"pickled": value.name, **{name: jsonable(part) for name, part in parts.items() if part}}
    if isinstance(value, Row):
        return jsonable(list(value) if value._fields is None else value.as_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: jsonable(part) for name, part in zip(value._fields, value)}
    if isinstance(value, (list, tuple)):
        return list(map(jsonable, value))
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: jsonable(item) for key, item in value.items()}
        return [[jsonable(key), jsonable(item)] for key, item in value.items()]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return repr(value)


# -- diff -------------------------------------------------------------------------------------------------------------


def difference_text(before: Opened, after: Opened, found: Difference) -> str:
    lines = [f"--- {before.uri}  {_title(before.metadata)}", f"+++ {after.uri}  {_title(after.metadata)}"]
    lines += [f"- operator {place.name!r} (uid {place.uid})" for place in found.only_before]
    lines += [f"+ operator {place.name!r} (uid {place.uid})" for place in found.only_after]
    for operator in found.operators:
        lines += _operator_lines(operator)
    if not found:
        lines.append("no difference")
    return "\n".join(lines)


def _title(metadata: Metadata) -> str:
    return f"{metadata.kind} of {metadata.job_name!r}, epoch {metadata.id}, {_time(metadata.time)}"


def _operator_lines(operator: OperatorDifference) -> list[str]:
    lines = ["", f"{operator.name}  (uid {operator.uid})"]
    lines += [f"  {note}" for note in operator.notes]
    lines += [f"  - state {state.name} ({_kind(state)}), {state.rows:,} rows" for state in operator.only_before]
    lines += [f"  + state {state.name} ({_kind(state)}), {state.rows:,} rows" for state in operator.only_after]
    for state in operator.states:
        lines.append(f"  {state.name}: {_counts(state)}")
        if state.described is not None:
            lines.append(f"    it was {state.described[0]} and is {state.described[1]}")
        rows = [_example_row(example, state.counted) for example in state.examples]
        lines += [f"    {line}" for line in aligned(rows)] if rows else []
        left = state.removed + state.added + state.changed - len(state.examples)
        if left and rows:
            lines.append(f"    ... and {left:,} more")
    return lines


def _counts(state: StateDifference) -> str:
    counts = [(state.removed, "removed"), (state.added, "added"), (state.changed, "changed")]
    return ", ".join(f"{count:,} {what}" for count, what in counts if count) or "the same entries"


def _example_row(example: Example, counted: bool) -> tuple[str, str, str]:
    sign = "-" if example.after is NOTHING else "+" if example.before is NOTHING else "~"
    key = shorten(_plain_tuple(example.key), WIDTH)
    if sign == "~":
        times = "times " if counted else ""
        return sign, key, f"{times}{shorten(example.before, WIDTH)} -> {shorten(example.after, WIDTH)}"
    value = example.before if sign == "-" else example.after
    if counted:
        return sign, key, "" if value == 1 else f"times {value}"
    return sign, key, shorten(value, WIDTH)


def difference_json(before: Opened, after: Opened, found: Difference) -> str:
    operators = [
        {
            "uid": operator.uid,
            "name": operator.name,
            "notes": list(operator.notes),
            "only_a": [state.name for state in operator.only_before],
            "only_b": [state.name for state in operator.only_after],
            "states": [_state_json(state) for state in operator.states],
        }
        for operator in found.operators
    ]
    return _json(
        {
            "a": before.uri,
            "b": after.uri,
            "same": not found,
            "only_a": [place.uid for place in found.only_before],
            "only_b": [place.uid for place in found.only_after],
            "operators": operators,
        }
    )


def _state_json(state: StateDifference) -> dict[str, Any]:
    examples = []
    for example in state.examples:
        described: dict[str, Any] = {"key": jsonable(_plain_tuple(example.key))}
        if example.before is not NOTHING:
            described["a"] = jsonable(example.before)
        if example.after is not NOTHING:
            described["b"] = jsonable(example.after)
        examples.append(described)
    return {
        "name": state.name,
        "removed": state.removed,
        "added": state.added,
        "changed": state.changed,
        "described": None if state.described is None else list(state.described),
        "examples": examples,
    }
