"""Random queries over random changing tables, as text that Millrace and DuckDB both know."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.table.programs.program import Program, Source

Draw = Callable[[st.SearchStrategy[Any]], Any]
INT, TEXT = "INT", "STRING"
SHAPES = (
    ("t", (("a", INT), ("b", INT), ("c", TEXT))),
    ("u", (("a", INT), ("d", INT))),
    ("v", (("k", INT), ("c", TEXT), ("b", INT))),
)
"""v has the primary key k, and gives its rows by it"""
VALUES: dict[str, st.SearchStrategy[Any]] = {
    INT: st.one_of(st.none(), st.integers(0, 3)),
    TEXT: st.one_of(st.none(), st.sampled_from(["x", "y", ""])),
}


@dataclass(frozen=True)
class Relation:
    """A query, with the names and types of its columns."""

    sql: str
    columns: tuple[tuple[str, str], ...]

    def of(self, kind: str) -> list[str]:
        return [name for name, each in self.columns if each == kind]


@st.composite
def programs(draw: Draw) -> Program:
    tables = tuple(draw(_by_key() if name == "v" else _table(name, columns)) for name, columns in SHAPES)
    query = _Query(draw).relation(draw(st.integers(1, 3)))
    return Program("random", query.sql, tables)


@st.composite
def _table(draw: Draw, name: str, columns: tuple[tuple[str, str], ...]) -> Source:
    """Insertions alone, or insertions with updates and deletions of rows that are there."""
    ddl = ", ".join(f"{column} {kind}" for column, kind in columns)
    row = st.tuples(*(VALUES[kind] for _, kind in columns))
    if draw(st.booleans()):
        return Source(name, ddl, tuple(draw(st.lists(row, max_size=7))))
    there: list[tuple[Any, ...]] = []
    changes: list[tuple[Any, ...]] = []
    for new, what, which in draw(st.lists(st.tuples(row, st.integers(0, 3), st.integers(0, 9)), max_size=10)):
        if what < 2 or not there:
            changes.append(("+I", *new))
            there.append(new)
            continue
        old = there.pop(which % len(there))
        if what == 2:
            changes.append(("-D", *old))
        else:
            changes += [("-U", *old), ("+U", *new)]
            there.append(new)
    return Source(name, ddl, tuple(changes), mode="I,UB,UA,D")


@st.composite
def _by_key(draw: Draw) -> Source:
    row = st.tuples(st.integers(1, 4), VALUES[TEXT], VALUES[INT])
    changes = draw(st.lists(st.tuples(st.sampled_from(["+I", "+U", "-D"]), row), max_size=10))
    rows = tuple((kind, *each) for kind, each in changes)
    return Source("v", "k INT, c STRING, b INT, PRIMARY KEY (k) NOT ENFORCED", rows, mode="I,UA,D")


class _Query:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self._numbers = itertools.count(1)

    def relation(self, depth: int) -> Relation:
        if depth == 0:
            name, columns = self.draw(st.sampled_from(SHAPES))
            return Relation(f"SELECT * FROM {name}", columns)
        kinds = [self._select, self._join, self._join, self._group, self._group, self._distinct, self._set, self._top]
        kinds += [self._semi]
        made: Relation = self.draw(st.sampled_from(kinds))(depth - 1)
        return made

    def _new(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def _source(self, depth: int) -> tuple[str, Relation]:
        """A query in FROM: its alias, and itself."""
        return self._new("r"), self.relation(self.draw(st.integers(0, depth)))

    # -- expressions ----------------------------------------------------------------------------------------------

    def _value(self, kind: str, names: list[str]) -> str:
        literal = str(self.draw(st.integers(0, 3))) if kind == INT else self.draw(st.sampled_from(["'x'", "'y'"]))
        if not names:
            return literal
        name = self.draw(st.sampled_from(names))
        forms = [
            name,
            name,
            name,
            f"COALESCE({name}, {literal})",
            f"CASE WHEN {name} = {literal} THEN NULL ELSE {name} END",
        ]
        if kind == INT:
            forms += [f"{name} + {literal}", f"{name} % 2"]
        return str(self.draw(st.sampled_from(forms)))

    def _condition(self, columns: dict[str, list[str]]) -> str:
        kind = self.draw(st.sampled_from([each for each in (INT, TEXT) if columns[each]]))
        names = columns[kind]
        one, other = self._value(kind, names), self._value(kind, names)
        sign = self.draw(st.sampled_from(["=", "<>", "<", ">=", "IS DISTINCT FROM"]))
        forms = [f"{one} {sign} {other}", f"{one} IS NULL", f"{one} IS NOT NULL", f"NOT ({one} {sign} {other})"]
        if self.draw(st.integers(0, 3)) == 0:
            both = self.draw(st.sampled_from(["AND", "OR"]))
            return f"({forms[0]} {both} {self._condition(columns)})"
        return str(self.draw(st.sampled_from(forms)))

    def _columns(self, *relations: tuple[str, Relation]) -> dict[str, list[str]]:
        return {
            kind: [f"{alias}.{name}" for alias, each in relations for name in each.of(kind)] for kind in (INT, TEXT)
        }

    def _outputs(self, columns: dict[str, list[str]], least: int = 1) -> tuple[list[str], tuple[tuple[str, str], ...]]:
        """Some expressions with new names, and what they are."""
        kinds = self.draw(
            st.lists(st.sampled_from([each for each in (INT, TEXT) if columns[each]]), min_size=least, max_size=3)
        )
        named = [(self._value(kind, columns[kind]), self._new("c"), kind) for kind in kinds]
        return [f"{text} AS {name}" for text, name, _ in named], tuple((name, kind) for _, name, kind in named)

    # -- queries --------------------------------------------------------------------------------------------------

    def _select(self, depth: int) -> Relation:
        source = alias, below = self._source(depth)
        columns = self._columns(source)
        items, made = self._outputs(columns)
        where = f" WHERE {self._condition(columns)}" if self.draw(st.booleans()) else ""
        return Relation(f"SELECT {', '.join(items)} FROM ({below.sql}) AS {alias}{where}", made)

    def _distinct(self, depth: int) -> Relation:
        made = self._select(depth)
        return Relation(made.sql.replace("SELECT", "SELECT DISTINCT", 1), made.columns)

    def _join(self, depth: int) -> Relation:
        left, right = self._source(depth), self._source(depth)
        kind = self.draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
        lefts, rights = self._columns(left), self._columns(right)
        both = self._columns(left, right)
        of = [each for each in (INT, TEXT) if lefts[each] and rights[each]]
        # An outer join needs something that is equal.
        if of:
            key = self.draw(st.sampled_from(of))
            on = f"{self.draw(st.sampled_from(lefts[key]))} = {self.draw(st.sampled_from(rights[key]))}"
        else:
            kind, on = "JOIN", self._condition(both)
        if kind in ("JOIN", "LEFT JOIN") and self.draw(st.integers(0, 2)) == 0:
            on += f" AND {self._condition(both)}"
        items, made = self._outputs(both)
        where = f" WHERE {self._condition(both)}" if self.draw(st.integers(0, 3)) == 0 else ""
        text = f"({left[1].sql}) AS {left[0]} {kind} ({right[1].sql}) AS {right[0]} ON {on}"
        return Relation(f"SELECT {', '.join(items)} FROM {text}{where}", made)

    def _group(self, depth: int) -> Relation:
        source = alias, below = self._source(depth)
        columns = self._columns(source)
        names = [(name, kind) for kind in (INT, TEXT) for name in columns[kind]]
        keys = self.draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
        calls: list[tuple[str, str]] = [("COUNT(*)", INT)]
        for name, kind in names:
            calls += [
                (f"COUNT({name})", INT),
                (f"COUNT(DISTINCT {name})", INT),
                (f"MIN({name})", kind),
                (f"MAX({name})", kind),
            ]
            calls += [(f"SUM({name})", INT), (f"SUM(DISTINCT {name})", INT)] if kind == INT else []
        chosen = self.draw(st.lists(st.sampled_from(calls), min_size=1, max_size=3))
        if self.draw(st.integers(0, 3)) == 0:
            chosen = [(f"{call} FILTER (WHERE {self._condition(columns)})", kind) for call, kind in chosen]
        named = [(text, self._new("c"), kind) for text, kind in (*keys, *chosen)]
        items = ", ".join(f"{text} AS {name}" for text, name, _ in named)
        group = f" GROUP BY {', '.join(name for name, _ in keys)}" if keys else ""
        having = " HAVING COUNT(*) > 1" if self.draw(st.integers(0, 3)) == 0 else ""
        sql = f"SELECT {items} FROM ({below.sql}) AS {alias}{group}{having}"
        return Relation(sql, tuple((name, kind) for _, name, kind in named))

    def _set(self, depth: int) -> Relation:
        sources = [self._source(depth), self._source(depth)]
        columns = [self._columns(each) for each in sources]
        kinds = [each for each in (INT, TEXT) if columns[0][each] and columns[1][each]]
        if not kinds:
            return self._select(depth)
        chosen = self.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))
        names = tuple((self._new("c"), kind) for kind in chosen)
        parts = []
        for (alias, below), have in zip(sources, columns):
            items = ", ".join(f"{self.draw(st.sampled_from(have[kind]))} AS {name}" for name, kind in names)
            parts.append(f"SELECT {items} FROM ({below.sql}) AS {alias}")
        word = self.draw(st.sampled_from(["UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]))
        return Relation(f"{parts[0]} {word} {parts[1]}", names)

    def _top(self, depth: int) -> Relation:
        alias, below = self._source(depth)
        names = [name for name, _ in below.columns]
        by = self.draw(st.lists(st.sampled_from(names), max_size=1))
        way = self.draw(st.sampled_from(["DESC NULLS LAST", "NULLS FIRST"]))
        # By all columns: rows that are equal in all of them are equal.
        order = ", ".join(f"{name} {way}" for name in self.draw(st.permutations(names)))
        number, partition = self._new("n"), f"PARTITION BY {', '.join(by)} " if by else ""
        inner = f"SELECT *, ROW_NUMBER() OVER ({partition}ORDER BY {order}) AS {number} FROM ({below.sql}) AS {alias}"
        columns = below.columns if self.draw(st.booleans()) else (*below.columns, (number, INT))
        items, count = ", ".join(name for name, _ in columns), self.draw(st.integers(1, 3))
        return Relation(f"SELECT {items} FROM ({inner}) AS {self._new('r')} WHERE {number} <= {count}", columns)

    def _semi(self, depth: int) -> Relation:
        outer, inner = self._source(depth), self._source(depth)
        columns, others = self._columns(outer), self._columns(inner)
        kinds = [each for each in (INT, TEXT) if columns[each] and others[each]]
        if not kinds:
            return self._select(depth)
        kind = self.draw(st.sampled_from(kinds))
        one, other = self.draw(st.sampled_from(columns[kind])), self.draw(st.sampled_from(others[kind]))
        negated = self.draw(st.sampled_from(["", "NOT "]))
        where = f" WHERE {self._condition(others)}" if self.draw(st.booleans()) else ""
        query = f"FROM ({inner[1].sql}) AS {inner[0]}{where}"
        if self.draw(st.booleans()):
            condition = f"{one} {negated}IN (SELECT {other} {query})"
        else:
            word = "AND" if where else "WHERE"
            condition = f"{negated}EXISTS (SELECT 1 {query} {word} {one} = {other})"
        items, made = self._outputs(columns)
        return Relation(f"SELECT {', '.join(items)} FROM ({outer[1].sql}) AS {outer[0]} WHERE {condition}", made)
