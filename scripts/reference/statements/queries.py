"""SELECT and its clauses."""

from __future__ import annotations

from .entry import Entry

TITLE = "Queries"
ENTRIES = (
    Entry(
        "SELECT",
        """
[WITH name [(column, ..)] AS (query), ..]
SELECT [/*+ hint, .. */] [ALL | DISTINCT] {* | expression [[AS] name]}, ..
FROM relation, ..
[WHERE condition]
[GROUP BY ..] [HAVING condition] [WINDOW name AS (..)] [QUALIFY condition]
[ORDER BY expression [ASC | DESC] [NULLS {FIRST | LAST}], ..] [LIMIT n] [OFFSET n] [FETCH FIRST n ROWS ONLY]""",
        "Rows of tables, computed anew as they change in streaming mode. ORDER BY in streaming mode begins with the time "
        "attribute, unless there is a LIMIT. `[EXECUTE] query` runs it.",
        """
WITH large AS (SELECT name, amount FROM orders WHERE amount > 1)
SELECT DISTINCT name FROM large;""",
    ),
    Entry(
        "VALUES",
        "VALUES (value, ..), ..",
        "Rows of constants, as a query or in FROM.",
        "SELECT n, text FROM (VALUES (1, 'one'), (2, 'two')) AS t (n, text);",
    ),
    Entry(
        "GROUP BY",
        """
GROUP BY [DISTINCT] {expression | GROUPING SETS ((..), ..) | ROLLUP (..) | CUBE (..)}, ..
aggregate([DISTINCT] expression) [FILTER (WHERE condition)] [WITHIN GROUP (ORDER BY ..)]""",
        "A row a group. In streaming mode a group's row is updated; each key stays in state until "
        "`table.exec.state.ttl`.",
        """
SELECT name, product, SUM(amount) AS total, COUNT(*) FILTER (WHERE amount > 1) AS above
FROM orders GROUP BY GROUPING SETS ((name, product), (name));""",
    ),
    Entry(
        "Windows of time",
        """
FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(time), size [, offset]))
FROM TABLE(HOP(TABLE t, DESCRIPTOR(time), slide, size [, offset]))
FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(time), step, size [, offset]))
FROM TABLE(SESSION(TABLE t [PARTITION BY (column, ..)], DESCRIPTOR(time), gap))""",
        "Each row with `window_start`, `window_end`, `window_time` of its window, or windows. GROUP BY with start and end gives "
        "one row a window, when the watermark passes its end. Sizes are intervals.",
        """
SELECT window_start, SUM(amount) AS total
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(sold), INTERVAL '10' MINUTE))
GROUP BY window_start, window_end;""",
    ),
    Entry(
        "OVER",
        """
aggregate(..) OVER ([PARTITION BY expression, ..] ORDER BY expression
                    [{ROWS | RANGE} BETWEEN {UNBOUNDED | n | interval} PRECEDING AND CURRENT ROW])""",
        "Each row with an aggregate of the rows around it. Several may share a window that WINDOW names.",
        """
SELECT name, amount, SUM(amount) OVER w AS so_far
FROM orders WINDOW w AS (PARTITION BY name ORDER BY sold);""",
    ),
    Entry(
        "Top N and QUALIFY",
        "SELECT .. QUALIFY condition with functions that have OVER",
        "The rows whose ROW_NUMBER, RANK or DENSE_RANK is small enough; a condition `= 1` in the order of time keeps the first "
        "or last row of each key.",
        """
SELECT product, name, amount FROM orders
QUALIFY ROW_NUMBER() OVER (PARTITION BY product ORDER BY amount DESC) = 1;""",
    ),
    Entry(
        "JOIN",
        """
relation {[INNER] | {LEFT | RIGHT | FULL} [OUTER] | CROSS} JOIN relation [ON condition | USING (column, ..)]
... WHERE expression [NOT] {IN | EXISTS} (query)""",
        "Rows that belong together. In streaming mode both sides stay in state. A condition that bounds the time between two "
        "time attributes makes an interval join, whose state is bounded: [joins](../guide/joins.md).",
        """
SELECT o.name, o.product, p.price
FROM orders AS o JOIN prices AS p ON o.product = p.product;""",
    ),
    Entry(
        "Joins with a version or a lookup",
        "relation [LEFT] JOIN table FOR SYSTEM_TIME AS OF time ON key = key",
        "With an event time: the row of the key that was valid then, of a table with PRIMARY KEY and WATERMARK. With "
        "`PROCTIME()`: what the table says when it is asked ([lookups](../guide/lookups.md)).",
        """
CREATE VIEW versioned AS
SELECT product, price, since FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY since DESC) AS n FROM prices
) WHERE n = 1;
SELECT o.product, o.amount * p.price AS paid
FROM orders AS o JOIN versioned FOR SYSTEM_TIME AS OF o.sold AS p ON o.product = p.product;""",
    ),
    Entry(
        "UNNEST and table functions",
        """
relation [LEFT | CROSS] JOIN LATERAL TABLE(function(..)) [AS t (column, ..)] [ON TRUE]
relation CROSS JOIN UNNEST(array) [WITH ORDINALITY] AS t (column, ..)""",
        "A row for each element of an array or map, or for each row of a function.",
        """
SELECT name, letter FROM orders CROSS JOIN UNNEST(SPLIT(product, 'n')) AS t (letter) WHERE name = 'Ann';""",
    ),
    Entry(
        "UNION, INTERSECT, EXCEPT",
        "query {UNION | INTERSECT | EXCEPT} [ALL] query",
        "Rows of either, both, or the first alone; without ALL each once.",
        "SELECT name AS word FROM orders UNION SELECT product FROM orders;",
    ),
    Entry(
        "MATCH_RECOGNIZE",
        """
table MATCH_RECOGNIZE (
    [PARTITION BY column, ..] ORDER BY time
    MEASURES expression AS name, ..
    [ONE ROW PER MATCH | ALL ROWS PER MATCH]
    [AFTER MATCH SKIP {PAST LAST ROW | TO NEXT ROW | TO {FIRST | LAST} variable}]
    PATTERN (variable[* | + | ? | {n,m}] ..) [WITHIN interval]
    DEFINE variable AS condition, ..
)""",
        "Rows that follow each other as a pattern says: [patterns in rows](../guide/match-recognize.md).",
        """
SELECT * FROM orders MATCH_RECOGNIZE (
    PARTITION BY name ORDER BY sold
    MEASURES A.amount AS small, B.amount AS larger
    PATTERN (A B) DEFINE B AS B.amount > A.amount
);""",
    ),
    Entry(
        "TABLESAMPLE",
        "table TABLESAMPLE {BERNOULLI | SYSTEM} (percent) [REPEATABLE (seed)]",
        "A share of the rows, by chance; the same rows for the same seed.",
        "SELECT COUNT(*) <= 5 AS fewer FROM orders TABLESAMPLE BERNOULLI (50) REPEATABLE (7);",
    ),
)
