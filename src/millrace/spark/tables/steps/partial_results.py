"""Aggregates in several steps: partial results of some rows of a group, and of those the value of the whole group. The
text of a call names Spark's aggregate functions only through ``Texts.call``: here that writes down the partial result,
and gives the function that merges such results. So what a call makes of its sums and counts is said once, where it is
described.

``from_values`` is for DISTINCT beside MAX or MIN of texts. Spark has a row for each column that is distinct, too, and
groups them by these columns; but its hash tables have only results of a fixed length, so for a MAX of texts it would
sort all those rows. Here texts are grouped like what is distinct, and only one row for each text is sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import Texts
from millrace.relational.rex import AggCall
from millrace.relational.type_table import Family, row_of
from millrace.relational.types import DataType
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.sql_text import native_text

_MERGED = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
"""function of Spark -> the one that makes of partial results of the first what it gives for all of their rows"""
_MOST_DIGITS = 28
"""Spark's sum of DECIMALs has ten digits more, and 38 at most: of longer ones a partial sum might be NULL because it
has too many, and merging would leave it out."""


@dataclass(frozen=True)
class InTwoSteps:
    """Calls over rows, as calls over partial results."""

    partial: Mapping[str, str]
    """partial result of the rows -> its column"""
    merged: tuple[str, ...]
    """the value of each call, of partial results"""


def in_two_steps(calls: Sequence[AggCall], prepared: Sequence[Texts]) -> InTwoSteps | None:
    """The calls in two steps; None if one of them needs all rows of its group at once.

    :param prepared: the expressions of each call over the rows.
    """
    partial: dict[str, str] = {}
    merged = []
    for call, texts in zip(calls, prepared, strict=True):
        text = None if call.distinct else _merged(call, texts, [partial])
        if text is None:
            return None
        merged.append(text)
    return InTwoSteps(partial, tuple(merged))


def _merged(call: AggCall, texts: Texts, steps: Sequence[dict[str, str]]) -> str | None:
    """The value of a call, whether it is DISTINCT or not, of the partial results of the last step; None if it needs all
    rows at once.

    :param steps: partial result -> its column, for each step; those that the call needs are added.
    """
    if any(_is_long(arg.type) for arg in call.args):
        return None
    try:
        return native_text(replace(call, distinct=False), _Merging(texts.args, texts.filter, steps=tuple(steps)))
    except _NeedsAllRowsError:
        return None


def _is_long(kind: t.DataType) -> bool:
    return isinstance(kind, t.DecimalType) and kind.precision > _MOST_DIGITS


class _NeedsAllRowsError(Exception):
    """An aggregate function has no partial results."""


class _Merging(Texts):
    """The expressions of a call, of whose aggregate functions only partial results are there."""

    steps: tuple[dict[str, str], ...] = ()

    def call(self, function: str) -> str:
        name, _, rest = function.partition("(")
        if name == "avg":
            value = rest.removesuffix(")")
            return f"({self.call(f'sum(CAST({value} AS DOUBLE))')} / {self.call(f'count({value})')})"
        if name not in _MERGED:
            raise _NeedsAllRowsError(function)
        text, merging = super().call(function), name
        for number, known in enumerate(self.steps):
            merging = _MERGED[merging]
            text = f"{merging}({known.setdefault(text, f'p{number}_{len(known)}')})"
        # There may be no partial results at all: of no rows without keys.
        return f"coalesce({text}, 0L)" if name == "count" else text


# DISTINCT beside MAX or MIN of texts

_ANY_LENGTH = (Family.TEXT, Family.BYTES)
_FIXED_LENGTH = (
    Family.BOOLEAN,
    Family.INTEGER,
    Family.APPROXIMATE,
    Family.DECIMAL,
    Family.DATE,
    Family.TIME,
    Family.TIMESTAMP,
    Family.INSTANT,
    Family.MONTHS,
    Family.SPAN,
)


def _is_of(kind: DataType, families: Sequence[Family]) -> bool:
    return row_of(kind).family in families


def from_values(part: Part, keys: Sequence[str], calls: Sequence[AggCall], prepared: Sequence[Texts]) -> Part | None:
    """A row for each group with its keys and the values of the calls, as c0, c1, ...; None where Spark needs no help,
    or a call needs all rows of its group at once.

    :param prepared: the expressions of each call over the rows.
    """
    if not any(call.distinct for call in calls) or not any(map(_is_long_extremum, calls)):
        return None
    values = _Values()
    merged = [values.merged(call, texts) for call, texts in zip(calls, prepared, strict=True)]
    known = [text for text in merged if text is not None]
    return values.grouped(part, keys, known) if len(known) == len(merged) else None


def _is_extremum(call: AggCall) -> bool:
    return call.function in ("MIN", "MAX") and call.udf is None


def _is_long_extremum(call: AggCall) -> bool:
    return _is_extremum(call) and _is_of(call.args[0].type, _ANY_LENGTH)


class _Values:
    """The steps of an aggregation by values.

    1. A row for each group and each value that is distinct in it, and one for each text of the first MAX or MIN, which
       has the partial results of the other calls, too.
    2. A row for each group and text. Those of step 1 that are of no text have NULL in its place.
    3. A row for each group.
    """

    def __init__(self) -> None:
        self._distinct: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        """expressions over the rows -> their columns"""
        self._conditions: dict[str, str] = {}
        """FILTER of a DISTINCT call -> column that says whether it is TRUE for any row with a value"""
        self._of_rows: dict[str, str] = {}
        self._of_values: dict[str, str] = {}
        """partial result -> its column, behind step 1 and step 2"""

    def merged(self, call: AggCall, texts: Texts) -> str | None:
        """The value of a call over the columns of step 2; None if it cannot be computed so."""
        if _is_long_extremum(call):
            value = texts.args[0] if texts.filter is None else f"CASE WHEN {texts.filter} THEN {texts.args[0]} END"
            return native_text(replace(call, distinct=False), Texts((_named(self._texts, "t", value),)))
        if not call.distinct or _is_extremum(call):
            return _merged(call, texts, [self._of_rows, self._of_values])
        if len(call.args) != 1 or not _is_of(call.args[0].type, (*_ANY_LENGTH, *_FIXED_LENGTH)):
            return None
        value = _named(self._distinct, "v", texts.args[0])
        condition = f"of_{value}"
        if texts.filter is not None:
            condition += f" AND {_named(self._conditions, 'f', texts.filter)}"
        return _merged(call, Texts((value,), condition), [self._of_values])

    def grouped(self, part: Part, keys: Sequence[str], merged: Sequence[str]) -> Part:
        """The keys and the values of the calls.

        :param merged: the value of each call, as ``merged`` gives it.
        """
        values, texts = list(self._distinct.values()), list(self._texts.values())
        named = [*_columns(self._distinct), *_columns(self._texts), *_columns(self._conditions)]
        sets = ", ".join(f"({', '.join([*keys, value])})" for value in (*values, *texts))
        own_keys = [f"k{at}" for at in range(len(keys))]
        found = [f"{key} AS {own}" for key, own in zip(keys, own_keys, strict=True)]
        found += [*values, *texts, *(f"max({name}) AS {name}" for name in self._conditions.values())]
        found += [f"grouping({value}) = 0 AS of_{value}" for value in (*values, texts[0])]
        by_value = part.select(["*", *named]).select(
            [*found, *_columns(self._of_rows)], f"GROUP BY GROUPING SETS ({sets})"
        )
        once = [f"CASE WHEN of_{texts[0]} THEN {name} END AS {name}" for name in self._of_rows.values()]
        kept = [*own_keys, *values, *texts, *self._conditions.values(), *(f"of_{value}" for value in values), *once]
        by_text = by_value.select(kept).select(
            [*own_keys, *texts, *_columns(self._of_values)], f"GROUP BY {', '.join([*own_keys, *texts])}"
        )
        return by_text.select(numbered([*own_keys, *merged]), f"GROUP BY {', '.join(own_keys)}" if keys else "")


def _named(known: dict[str, str], prefix: str, text: str) -> str:
    """The column of an expression, which gets one if it has none yet."""
    return known.setdefault(text, f"{prefix}{len(known)}")


def _columns(known: Mapping[str, str]) -> list[str]:
    return [f"{text} AS {name}" for text, name in known.items()]
