"""What an aggregate needs to write itself as Spark SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millrace.relational.rex import AggCall


@dataclass(frozen=True)
class Texts:
    """The expressions of a call over its input."""

    args: tuple[str, ...]
    filter: str | None = None
    order: tuple[str, ...] = ()
    over: str = ""
    """the OVER clause of a call that is not a group's"""
    distinct: bool = False

    def call(self, function: str) -> str:
        """An aggregate function of Spark with the call's FILTER and OVER."""
        where = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{function}{where}{self.over}"

    def of_args(self, function: str) -> str:
        """A function of the call's arguments, of distinct ones if the call says so."""
        return self.call(f"{function}({'DISTINCT ' if self.distinct else ''}{', '.join(self.args)})")

    def collected(self, value: str) -> str:
        """A list of the values of all rows; Spark leaves NULLs out."""
        return self.call(f"{'collect_set' if self.distinct else 'collect_list'}({value})")


Spark = Callable[[AggCall, Texts], "str | None"]
"""(the typed call, texts of its parts) -> Spark SQL, cast to the type of the call by the caller; None: not here"""
