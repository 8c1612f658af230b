"""Random queries over random tables, valid by construction."""

from __future__ import annotations

import datetime as dt
import random
import zlib
from dataclasses import dataclass

from tests.random.expressions import Column, Expressions
from tests.random.types_and_values import KINDS, value_or_null
from tests.table.programs.program import Program, Source

ZONES = ("UTC", "America/New_York", "Asia/Shanghai", "Asia/Kolkata")
ALWAYS = ("INT", "STRING", "DOUBLE")
"""types that every table has: keys to join by, and values to add up"""
AGGREGATES = {
    "INT": ("SUM({0})", "MIN({0})", "MAX({0})", "COUNT({0})", "AVG({0})", "COUNT(DISTINCT {0})", "SUM(DISTINCT {0})"),
    "BIGINT": ("MIN({0})", "MAX({0})", "COUNT({0})"),
    "DOUBLE": ("SUM({0})", "MIN({0})", "MAX({0})", "COUNT({0})"),
    "DECIMAL(10, 2)": ("SUM({0})", "MIN({0})", "MAX({0})", "AVG({0})"),
    "STRING": ("MIN({0})", "MAX({0})", "COUNT({0})", "COUNT(DISTINCT {0})"),
    "BOOLEAN": ("COUNT({0})", "MAX({0})"),
    "DATE": ("MIN({0})", "MAX({0})"),
    "TIMESTAMP(3)": ("MIN({0})", "MAX({0})"),
}


Row = tuple[object, ...]


@dataclass(frozen=True)
class Relation:
    """A query and its columns."""

    sql: str
    columns: tuple[Column, ...]


def program(seed: str) -> Program:
    """A query with its tables, all drawn from a text."""
    draw = random.Random(seed)
    made = _Queries(draw)
    sql = made.query()
    zone = draw.choice(ZONES)
    name = f"random{zlib.crc32(seed.encode())}"
    return Program(name, sql, tuple(made.tables.values()), settings={"table.local-time-zone": zone})


class _Queries:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.expressions = Expressions(draw)
        self.tables: dict[str, Source] = {}
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._names = 0

    def query(self) -> str:
        shapes = (self.select, self.select, self.group, self.group, self.join, self.join, self.semi, self.sets)
        shapes += (self.distinct, self.top, self.unnest, self.window, self.window, self.over)
        return self.draw.choice(shapes)().sql

    # -- tables ---------------------------------------------------------------------------------------------------

    def name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def table(self) -> Relation:
        """A table of insertions, half of the time one that is there already."""
        if self._columns and self.draw.random() < 0.5:
            name = self.draw.choice(list(self._columns))
        else:
            name = self.name("t")
            kinds = [*ALWAYS, *self.draw.sample([kind for kind in KINDS if kind not in ALWAYS], 3)]
            self._columns[name] = tuple((f"c{at}", kind) for at, kind in enumerate(kinds))
            count = self.draw.choice((0, 2, 4, 5, 6, 8, 9, 10, 12))
            rows = [tuple(value_or_null(self.draw, kind) for kind in kinds) for _ in range(count)]
            ddl = ", ".join(f"{column} {kind}" for column, kind in self._columns[name])
            changing = self.draw.random() < 0.3
            self.tables[name] = self._changing(name, ddl, rows) if changing else Source(name, ddl, tuple(rows))
        return Relation(name, self._columns[name])

    def _changing(self, name: str, ddl: str, rows: list[Row]) -> Source:
        """A table whose rows are also taken back and replaced."""
        there: list[Row] = []
        changes: list[tuple[object, ...]] = []
        for row in rows:
            what = self.draw.random()
            if there and what < 0.5:
                old = there.pop(self.draw.randrange(len(there)))
                changes += [("-U", *old), ("+U", *row)] if what < 0.3 else [("-D", *old)]
                there += [row] if what < 0.3 else []
            else:
                changes.append(("+I", *row))
                there.append(row)
        return Source(name, ddl, tuple(changes), mode="I,UB,UA,D")

    def timed(self) -> str:
        """A table with event time, in order."""
        name = self.name("w")
        start, rows = dt.datetime(2024, 5, 1), []
        for _ in range(self.draw.choice((0, 1, 3, 5, 7, 9, 12))):
            start += dt.timedelta(seconds=self.draw.choice((0, 1, 4, 11, 30)))
            rows.append((value_or_null(self.draw, "INT"), value_or_null(self.draw, "STRING"), start))
        ddl = "c0 INT, c1 STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND"
        self.tables[name] = Source(name, ddl, tuple(rows))
        return name

    def source(self, depth: int = 1) -> tuple[str, tuple[Column, ...]]:
        """What stands in FROM, and its columns with their alias."""
        alias = self.name("r")
        shape = self.draw.random()
        if depth == 0 or shape < 0.6:
            below = self.table()
        else:
            below = self.select(depth - 1) if shape < 0.8 else self.grouped(depth - 1)
        written = below.sql if below.sql in self.tables else f"({below.sql})"
        return f"{written} AS {alias}", tuple((f"{alias}.{name}", kind) for name, kind in below.columns)

    # -- parts ----------------------------------------------------------------------------------------------------

    def outputs(self, columns: tuple[Column, ...], kinds: list[str] | None = None) -> tuple[str, tuple[Column, ...]]:
        wanted = kinds or self.draw.choices(list(KINDS), k=self.draw.randint(1, 3))
        named = [(self.expressions.of(kind, columns), self.name("o"), kind) for kind in wanted]
        return ", ".join(f"{text} AS {name}" for text, name, _ in named), tuple((name, kind) for _, name, kind in named)

    def where(self, columns: tuple[Column, ...]) -> str:
        """A condition, often one that NULL fulfils, seldom a constant: else few rows would be left to compare."""
        if self.draw.random() < 0.6:
            return ""
        drawn = [self.expressions.of("BOOLEAN", columns) for _ in range(3)]
        condition = next((each for each in drawn if any(name in each for name, _ in columns)), drawn[0])
        return f" WHERE {self.draw.choice((condition, f'({condition} IS NOT FALSE)'))}"

    def calls(self, columns: tuple[Column, ...]) -> list[str]:
        found = ["COUNT(*)"]
        for _ in range(self.draw.randint(1, 3)):
            kind = self.draw.choice(list(AGGREGATES))
            call = self.draw.choice(AGGREGATES[kind]).format(self.expressions.of(kind, columns, 1))
            only = self.draw.random() < 0.25
            found.append(f"{call} FILTER (WHERE {self.expressions.of('BOOLEAN', columns, 1)})" if only else call)
        return [f"{call} AS {self.name('a')}" for call in found]

    def keys(self, columns: tuple[Column, ...]) -> list[str]:
        """Columns that rows can be told apart by."""
        usable = [name for name, kind in columns if KINDS[kind].key and kind not in ("DOUBLE", "FLOAT")]
        return self.draw.sample(usable, self.draw.randint(1, min(2, len(usable))))

    # -- queries --------------------------------------------------------------------------------------------------

    def select(self, depth: int = 1) -> Relation:
        source, columns = self.source(depth)
        items, made = self.outputs(columns, [*ALWAYS, *self.draw.choices(list(KINDS), k=2)])
        return Relation(f"SELECT {items} FROM {source}{self.where(columns)}", made)

    def grouped(self, depth: int) -> Relation:
        """Rows that change as others come."""
        source, columns = self.source(depth)
        key, text = self._column(columns, "INT"), self._column(columns, "STRING")
        double = self.expressions.of("DOUBLE", columns, 1)
        made = tuple((self.name("g"), kind) for kind in (*ALWAYS, "BIGINT"))
        names = [name for name, _ in made]
        items = f"{key} AS {names[0]}, {text} AS {names[1]}, MAX({double}) AS {names[2]}, COUNT(*) AS {names[3]}"
        return Relation(f"SELECT {items} FROM {source}{self.where(columns)} GROUP BY {key}, {text}", made)

    def group(self) -> Relation:
        source, columns = self.source()
        keys = self.keys(columns) if self.draw.random() < 0.8 else []
        items = ", ".join([*keys, *self.calls(columns)])
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = " HAVING COUNT(*) > 1" if keys and self.draw.random() < 0.2 else ""
        return Relation(f"SELECT {items} FROM {source}{self.where(columns)}{by}{having}", ())

    def join(self) -> Relation:
        (left, one), (right, other) = self.source(), self.source()
        side = self.draw.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        kind = self.draw.choice(("INT", "STRING"))
        on = f"{self._column(one, kind)} = {self._column(other, kind)}"
        if self.draw.random() < 0.3:
            on += f" AND {self.expressions.of('BOOLEAN', one + other, 1)}"
        items, made = self.outputs(one + other)
        return Relation(f"SELECT {items} FROM {left} {side} {right} ON {on}", made)

    def _column(self, columns: tuple[Column, ...], kind: str) -> str:
        return self.draw.choice([name for name, each in columns if each == kind])

    def semi(self) -> Relation:
        (left, one), (right, other) = self.source(), self.source()
        kind = self.draw.choice(("INT", "STRING"))
        a, b = self._column(one, kind), self._column(other, kind)
        negated = self.draw.choice(("", "NOT "))
        forms = [
            f"{negated}EXISTS (SELECT 1 FROM {right} WHERE {b} = {a})",
            f"{a} IN (SELECT {b} FROM {right})",
            f"{a} NOT IN (SELECT {b} FROM {right} WHERE {b} IS NOT NULL)",
        ]
        items, made = self.outputs(one)
        return Relation(f"SELECT {items} FROM {left} WHERE {self.draw.choice(forms)}", made)

    def sets(self) -> Relation:
        kinds = self.draw.choices([kind for kind in KINDS if KINDS[kind].key], k=2)
        parts = []
        for _ in range(2):
            source, columns = self.source()
            items, made = self.outputs(columns, kinds)
            parts.append(f"SELECT {items} FROM {source}")
        word = self.draw.choice(("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
        return Relation(f" {word} ".join(parts), made)

    def distinct(self) -> Relation:
        source, columns = self.source()
        kinds = self.draw.choices([kind for kind in KINDS if KINDS[kind].key], k=2)
        items, made = self.outputs(columns, kinds)
        return Relation(f"SELECT DISTINCT {items} FROM {source}", made)

    def top(self) -> Relation:
        """The first rows in an order in which only equal rows share a place."""
        source, columns = self.source()
        items, made = self.outputs(columns, ["INT", "STRING", "DATE"])
        names = [name for name, _ in made]
        order = ", ".join(f"{name} {self.draw.choice(('ASC', 'DESC'))} NULLS LAST" for name in names)
        inner = f"SELECT {items} FROM {source}"
        if self.draw.random() < 0.4:
            return Relation(f"SELECT * FROM ({inner}) ORDER BY {order} LIMIT {self.draw.randint(1, 4)}", made)
        by = f"PARTITION BY {names[0]} " if self.draw.random() < 0.6 else ""
        numbered = f"SELECT *, ROW_NUMBER() OVER ({by}ORDER BY {order}) AS n FROM ({inner})"
        return Relation(f"SELECT {', '.join(names)} FROM ({numbered}) WHERE n <= {self.draw.randint(1, 3)}", made)

    def unnest(self) -> Relation:
        source, below = self.source()
        array = self.expressions.of("ARRAY<INT>", below, 1)
        alias = self.name("u")
        columns = tuple((f"{alias}.d{at}", kind) for at, (_, kind) in enumerate(below))
        named = ", ".join(f"{text} AS d{at}" for at, (text, _) in enumerate(below))
        items, made = self.outputs((*columns, ("e.x", "INT")))
        inner = f"(SELECT {named}, {array} AS elements FROM {source}) AS {alias}"
        side, on = self.draw.choice((("CROSS JOIN", ""), ("LEFT JOIN", " ON TRUE")))
        return Relation(f"SELECT {items} FROM {inner} {side} UNNEST({alias}.elements) AS e(x){on}", made)

    def window(self) -> Relation:
        name = self.timed()
        size = self.draw.choice(("10", "30", "60"))
        sizes = f"INTERVAL '{size}' SECOND"
        form = self.draw.choice(("TUMBLE", "HOP", "CUMULATE"))
        step = "INTERVAL '10' SECOND, " if form != "TUMBLE" else ""
        table = f"TABLE({form}(TABLE {name}, DESCRIPTOR(ts), {step}{sizes}))"
        columns = (("c0", "INT"), ("c1", "STRING"), ("ts", "TIMESTAMP(3)"))
        keys = ["window_start", "window_end", *self.draw.sample(["c0", "c1"], self.draw.randint(0, 1))]
        items = ", ".join([*keys, *self.calls(columns)])
        return Relation(f"SELECT {items} FROM {table}{self.where(columns)} GROUP BY {', '.join(keys)}", ())

    def over(self) -> Relation:
        name = self.timed()
        rows = self.draw.choice(("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"))
        rows = rows or " RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW"
        call = self.draw.choice(("SUM(c0)", "COUNT(*)", "MAX(c0)", "COUNT(c1)"))
        # Rows of one time have no order among them, so frames of rows are looked at as a whole.
        over = f"{call} OVER (PARTITION BY c1 ORDER BY ts{rows})"
        outer = "c1, ts, x" if "RANGE" in rows else "c1, COUNT(x)"
        group = "" if "RANGE" in rows else " GROUP BY c1"
        return Relation(f"SELECT {outer} FROM (SELECT c1, ts, {over} AS x FROM {name}){group}", ())
