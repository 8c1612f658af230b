"""MATCH_RECOGNIZE."""

from __future__ import annotations

from millrace.relational.fields import Schema
from millrace.relational.matching import Pattern
from millrace.relational.nodes.base import Single
from millrace.relational.rex import Rex, SortKey
from millrace.relational.rex_text import keys_text, named, rex_text

ONE_ROW, ALL_ROWS = "ONE ROW PER MATCH", "ALL ROWS PER MATCH"
SHOW_EMPTY, OMIT_EMPTY, WITH_UNMATCHED = "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS"


class Match(Single):
    """The matches of a pattern in the rows of each partition.

    The result of ONE ROW PER MATCH: the columns of the partition, then the measures. That of ALL ROWS: the columns of
    the partition, those of the order, the measures, then the other columns of the input.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    pattern: Pattern
    defines: tuple[tuple[str, Rex], ...]
    """what a row must be for a variable; one that is not here takes every row"""
    measures: tuple[Rex, ...]
    columns: Schema
    passed: tuple[int, ...] = ()
    """ALL ROWS: the columns of the input that are given out besides those of the partition: first ``ordered`` of them,
    before the measures, then the others"""
    ordered: int = 0
    rows: str = ONE_ROW
    """ONE ROW PER MATCH, or ALL ROWS PER MATCH"""
    empty: str = SHOW_EMPTY
    """of ALL ROWS: SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS"""
    skip: str = "PAST LAST ROW"
    """or TO NEXT ROW, TO FIRST, TO LAST"""
    target: tuple[str, ...] = ()
    """the variables that TO FIRST and TO LAST mean: of a subset all its members"""
    within: int | None = None
    """ms: rows of a match are less than so much later than its first one"""
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    anchors: str = ""
    """a subset of ``^$``"""
    standard: bool = False
    """whether matches are found as the SQL standard says; else as Flink's automaton does"""

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [f"partitionBy={named(self.partition, source)}"] if self.partition else []
        parts.append(f"orderBy=[{keys_text(self.order, source)}]")
        names = [column.name for column in self.columns[self._first_measure() :]]
        measures = (f"{rex_text(each, source)} AS {name}" for each, name in zip(self.measures, names))
        parts.append(f"measures=[{', '.join(measures)}]")
        parts.append(f"rowsPerMatch=[{self.rows}{f' {self.empty}' if self.rows == ALL_ROWS else ''}]")
        parts.append(f"after=[SKIP {self.skip}{f' {self._target()}' if self.target else ''}]")
        pattern = f"{'^ ' * ('^' in self.anchors)}{self.pattern}{' $' * ('$' in self.anchors)}"
        parts.append(f"pattern=[({pattern}){'' if self.within is None else f' WITHIN {self.within} ms'}]")
        if self.subsets:
            parts.append("subset=[" + ", ".join(f"{name} = ({', '.join(of)})" for name, of in self.subsets) + "]")
        defines = (f"{name} AS {rex_text(condition, source)}" for name, condition in self.defines)
        parts.append(f"define=[{', '.join(defines)}]")
        return [*parts, f"semantics=[{'standard' if self.standard else 'flink'}]"]

    def _first_measure(self) -> int:
        return len(self.partition) + self.ordered

    def _target(self) -> str:
        if len(self.target) == 1:
            return self.target[0]
        return next((name for name, of in self.subsets if of == self.target), "/".join(self.target))
