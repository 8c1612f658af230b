"""What an aggregate needs to write itself as Spark SQL."""

from __future__ import annotations

from collections.abc import Callable

from millrace.relational.rex import AggCall
from millrace.util.record import Record


class Texts(Record):
    """The expressions of a call over its input."""

    args: tuple[str, ...]
    filter: str | None = None
    order: tuple[str, ...] = ()
    over: str = ""
    """the OVER clause of a call that is not a group's"""
    distinct: bool = False
    place: str = ""
    """a column that says where a row stands in the input, if the way to the aggregate may change the order of rows"""

    def call(self, function: str) -> str:
        """An aggregate function of Spark with the call's FILTER and OVER."""
        where = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{function}{where}{self.over}"

    def of_args(self, function: str) -> str:
        """A function of the call's arguments, of distinct ones if the call says so."""
        return self.call(f"{function}({'DISTINCT ' if self.distinct else ''}{', '.join(self.args)})")

    def collected(self, value: str) -> str:
        """A list of the values of all rows; Spark leaves NULLs out."""
        if self.place and not self.distinct:
            return self.in_place(f"CASE WHEN {value} IS NOT NULL THEN {self._placed(value)} END")
        return self.call(f"{'collect_set' if self.distinct else 'collect_list'}({value})")

    def rows(self, value: str) -> str:
        """A list of values that are never NULL."""
        return self.in_place(self._placed(value)) if self.place else self.call(f"collect_list({value})")

    def in_place(self, pairs: str) -> str:
        """A list of the values of pairs, in the order of their places."""
        return f"transform(array_sort({self.call(f'collect_list({pairs})')}), each -> each.value)"

    def _placed(self, value: str) -> str:
        return f"named_struct('place', {self.place}, 'value', {value})"


Spark = Callable[[AggCall, Texts], "str | None"]
"""(the typed call, texts of its parts) -> Spark SQL, cast to the type of the call by the caller; None: not here"""
