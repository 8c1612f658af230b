"""Values with values in them, UNNEST, table functions and functions of the user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.table.programs.changing import ACCOUNTS, STOCK
from tests.table.programs.program import Program, Source
from tests.table.programs.timed import BIDS

from millrace.common.types import Row
from millrace.table import DataTypes
from millrace.table.udf import udf, udtf

NESTED = Source(
    "nested",
    "id INT, xs ARRAY<INT>, rs ARRAY<ROW<a INT, b STRING>>, m MAP<STRING, INT>, r ROW<a INT, b ROW<c STRING, d INT>>",
    (
        (1, [3, 1, 3], [Row(1, "x"), Row(2, None)], {"a": 1, "b": 2}, Row(7, Row("p", 70))),
        (2, [], [], {}, Row(8, Row("q", None))),
        (3, None, None, None, None),
        (4, [5, None], [Row(1, "x")], {"a": None}, Row(7, None)),
        (5, [1], [Row(None, "z")], {"c": 9}, Row(7, Row("p", 70))),
    ),
)


def _nested(name: str, sql: str, *rows: tuple[Any, ...], **how: Any) -> Program:
    return Program(name, sql, (NESTED,), rows=rows, **how)


FIELDS = [
    _nested(
        "fields_in_brackets",
        "SELECT id, r['a'], r[1], r[2]['c'], r['b'][1 + 1], rs[1]['b'] FROM nested",
        (1, 7, 7, "p", 70, "x"),
        (2, 8, 8, "q", None, None),
        (3, None, None, None, None, None),
        (4, 7, 7, None, None, "x"),
        (5, 7, 7, "p", 70, "z"),
    ),
    _nested("group_by_a_field", "SELECT r['a'], COUNT(*) FROM nested GROUP BY r['a']", (7, 3), (8, 1), (None, 1)),
]
UNNESTS = [
    _nested(
        "unnest_array",
        "SELECT id, x FROM nested CROSS JOIN UNNEST(xs) AS t (x)",
        (1, 3),
        (1, 1),
        (1, 3),
        (4, 5),
        (4, None),
        (5, 1),
        operators=("Correlate",),
        changes="[I]",
    ),
    _nested(
        "unnest_array_left",
        "SELECT id, x FROM nested LEFT JOIN UNNEST(xs) AS t (x) ON TRUE",
        (1, 3),
        (1, 1),
        (1, 3),
        (2, None),
        (3, None),
        (4, 5),
        (4, None),
        (5, 1),
    ),
    _nested(
        "unnest_rows",
        "SELECT id, a, b FROM nested, UNNEST(rs) AS t (a, b)",
        (1, 1, "x"),
        (1, 2, None),
        (4, 1, "x"),
        (5, None, "z"),
    ),
    _nested(
        "unnest_map",
        "SELECT id, k, v FROM nested, UNNEST(m) AS t (k, v)",
        (1, "a", 1),
        (1, "b", 2),
        (4, "a", None),
        (5, "c", 9),
    ),
    _nested(
        "unnest_with_ordinality",
        "SELECT id, x, o FROM nested CROSS JOIN UNNEST(xs) WITH ORDINALITY AS t (x, o) WHERE id < 5",
        (1, 3, 1),
        (1, 1, 2),
        (1, 3, 3),
        (4, 5, 1),
        (4, None, 2),
    ),
    _nested(
        "unnest_grouped",
        "SELECT x, COUNT(*) AS n, MAX(id) AS m FROM nested, UNNEST(xs) AS t (x) GROUP BY x",
        (3, 2, 1),
        (1, 2, 5),
        (5, 1, 4),
        (None, 1, 4),
    ),
    _nested(
        "unnest_filtered",
        "SELECT id, x FROM nested, UNNEST(xs) AS t (x) WHERE x > id",
        (1, 3),
        (1, 3),
        (4, 5),
    ),
    Program(
        "unnest_collected",
        "SELECT shop, i FROM (SELECT shop, COLLECT(item) AS c FROM stock GROUP BY shop) AS g, UNNEST(c) AS t (i)",
        (STOCK,),
        duckdb="SELECT shop, item FROM stock",
        operators=("GroupAggregate", "Correlate"),
    ),
]
ACCESS = [
    _nested(
        "array_elements",
        "SELECT id, xs[1] AS f, CARDINALITY(xs) AS n FROM nested",
        (1, 3, 3),
        (2, None, 0),
        (3, None, None),
        (4, 5, 2),
        (5, 1, 1),
    ),
    _nested(
        "map_values",
        "SELECT id, m['a'] AS a, CARDINALITY(m) AS n FROM nested WHERE id <> 2",
        (1, 1, 2),
        (3, None, None),
        (4, None, 1),
        (5, None, 1),
    ),
    _nested(
        "row_fields",
        "SELECT id, nested.r.a AS a, nested.r.b.c AS c FROM nested",
        (1, 7, "p"),
        (2, 8, "q"),
        (3, None, None),
        (4, 7, None),
        (5, 7, "p"),
    ),
    _nested("rows_in_arrays", "SELECT id, rs[1].b AS b FROM nested WHERE rs[1].a = 1", (1, "x"), (4, "x")),
    _nested(
        "group_by_field",
        "SELECT nested.r.b.c AS c, COUNT(*) AS n FROM nested GROUP BY nested.r.b.c",
        ("p", 2),
        ("q", 1),
        (None, 2),
    ),
    _nested(
        "group_by_row",
        "SELECT r, COUNT(*) AS n FROM nested WHERE id <> 3 GROUP BY r",
        ((7, ("p", 70)), 2),
        ((8, ("q", None)), 1),
        ((7, None), 1),
    ),
    _nested(
        "distinct_arrays", "SELECT DISTINCT ARRAY[nested.r.a, 1] AS x FROM nested WHERE id <> 3", ([7, 1],), ([8, 1],)
    ),
    _nested(
        "group_by_array",
        "SELECT xs, MIN(id) AS m FROM nested GROUP BY xs",
        ([3, 1, 3], 1),
        ([], 2),
        (None, 3),
        ([5, None], 4),
        ([1], 5),
    ),
    _nested(
        "made_values",
        "SELECT id, ROW(id, 'x') AS r, ARRAY[id, 0] AS a, MAP['k', id] AS m FROM nested WHERE id < 3",
        (1, (1, "x"), [1, 0], {"k": 1}),
        (2, (2, "x"), [2, 0], {"k": 2}),
    ),
    _nested("array_contains", "SELECT id FROM nested WHERE ARRAY_CONTAINS(xs, 3)", (1,)),
    _nested(
        "joined_by_field",
        "SELECT a.id, b.id AS other FROM nested AS a JOIN nested AS b ON a.r = b.r AND a.id < b.id",
        (1, 5),
    ),
]


@udf(result_type=DataTypes.STRING())
def shout(text: str | None, times: int) -> str | None:
    return None if text is None else text.upper() + "!" * times


@udf(result_type=DataTypes.INT(), func_type="pandas")
def doubled(values: Any) -> Any:
    return values * 2


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def letters(text: str | None) -> Iterator[tuple[str, int]]:
    for place, letter in enumerate(text or ""):
        yield letter, place


USERS = [
    Program(
        "user_function",
        "SELECT id, shout(item, 2) AS s FROM bids WHERE shout(who, 0) = 'ANN'",
        (BIDS,),
        duckdb="SELECT id, UPPER(item) || '!!' FROM bids WHERE who = 'Ann'",
        functions=(("shout", shout),),
        changes="[I]",
    ),
    Program(
        "user_function_on_changes",
        "SELECT shout(owner, 1) AS o, SUM(balance) AS s FROM accounts GROUP BY shout(owner, 1)",
        (ACCOUNTS,),
        duckdb="SELECT UPPER(owner) || '!', SUM(balance) FROM accounts GROUP BY 1",
        functions=(("shout", shout),),
    ),
    Program(
        "user_function_on_columns",
        "SELECT id, doubled(id) AS d FROM bids",
        (BIDS,),
        duckdb="SELECT id, id * 2 FROM bids",
        functions=(("doubled", doubled),),
    ),
    Program(
        "table_function",
        "SELECT id, l, p FROM bids, LATERAL TABLE(letters(item)) AS t (l, p)",
        (BIDS,),
        duckdb="SELECT id, item[p + 1], p FROM bids, (SELECT UNNEST(generate_series(0, 2)) AS p) WHERE item IS "
        "NOT NULL",
        functions=(("letters", letters),),
        operators=("Correlate",),
        changes="[I]",
    ),
    Program(
        "table_function_left",
        "SELECT id, l FROM bids LEFT JOIN LATERAL TABLE(letters(who)) AS t (l, p) ON TRUE",
        (BIDS,),
        duckdb="SELECT id, who[p + 1] FROM bids LEFT JOIN (SELECT UNNEST(generate_series(0, 2)) AS p) ON who IS "
        "NOT NULL",
        functions=(("letters", letters),),
    ),
    Program(
        "table_function_on_changes",
        "SELECT l, COUNT(*) AS n FROM stock, LATERAL TABLE(letters(item)) AS t (l, p) WHERE p < 2 GROUP BY l",
        (STOCK,),
        duckdb="SELECT item[p + 1], COUNT(*) FROM stock, (SELECT UNNEST(generate_series(0, 1)) AS p) "
        "WHERE item IS NOT NULL GROUP BY 1",
        functions=(("letters", letters),),
    ),
]
PROGRAMS = [*FIELDS, *UNNESTS, *ACCESS, *USERS]
