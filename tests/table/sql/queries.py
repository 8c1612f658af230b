"""Standard SQL queries over a few small tables, declared once: the binder's tests look at their plans, others run them
and compare with DuckDB. Nothing of Flink's own syntax is in here."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table with its rows. Types are SQL text that Flink and DuckDB both know."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Query:
    name: str
    sql: str
    ordered: bool = False
    """whether the order of the rows is defined"""
    duckdb: str | None = None
    """the text for DuckDB where it has another syntax or another NULL order"""


def _day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def _at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(f"2024-05-06 {text}")


EMP = Table(
    "emp",
    (
        ("id", "INT"),
        ("name", "VARCHAR"),
        ("dept", "INT"),
        ("salary", "BIGINT"),
        ("boss", "INT"),
        ("hired", "DATE"),
    ),
    (
        (1, "Ann", 10, 9000, None, _day("2019-01-15")),
        (2, "Bob", 10, 5000, 1, _day("2020-03-01")),
        (3, "Cid", 20, 6000, 1, _day("2020-03-01")),
        (4, "Dan", 20, 4000, 3, _day("2021-07-20")),
        (5, "Eve", 20, 6000, 3, _day("2022-11-30")),
        (6, "Fay", None, 3000, 1, _day("2023-02-14")),
        (7, "Gus", 40, None, 2, None),
        (8, None, 30, 7000, None, _day("2018-05-05")),
    ),
)
DEPT = Table(
    "dept",
    (("id", "INT"), ("title", "VARCHAR"), ("city", "VARCHAR")),
    ((10, "Sales", "Bonn"), (20, "Tech", "Kiel"), (30, "Law", "Bonn"), (50, "Art", None)),
)
ORDERS = Table(
    "orders",
    (
        ("id", "INT"),
        ("emp", "INT"),
        ("item", "VARCHAR"),
        ("amount", "INT"),
        ("price", "DECIMAL(10, 2)"),
        ("placed", "TIMESTAMP(3)"),
        ("paid", "BOOLEAN"),
    ),
    (
        (1, 1, "pen", 10, Decimal("1.50"), _at("10:00:00"), True),
        (2, 2, "ink", 2, Decimal("7.25"), _at("10:00:00"), False),
        (3, 2, "pen", 5, Decimal("1.45"), _at("10:02:30"), True),
        (4, 3, "pad", 1, Decimal("12.00"), _at("10:04:00"), None),
        (5, 3, "pen", 20, Decimal("1.30"), _at("10:10:00"), True),
        (6, 5, "pad", 3, Decimal("11.50"), _at("10:12:00"), False),
        (7, 9, "ink", 4, Decimal("7.00"), _at("11:00:00"), True),
        (8, None, "pen", None, Decimal("1.50"), _at("11:30:00"), True),
    ),
)
PAIRS = Table("pairs", (("a", "INT"), ("b", "INT")), ((1, 1), (1, 2), (2, None), (None, 3), (3, 3), (1, 2)))
TABLES = (EMP, DEPT, ORDERS, PAIRS)


def _group(prefix: str, *queries: str) -> list[Query]:
    return [Query(f"{prefix}_{number}", sql) for number, sql in enumerate(queries, 1)]


def _sorted(prefix: str, *queries: str) -> list[Query]:
    return [Query(f"{prefix}_{number}", sql, ordered=True) for number, sql in enumerate(queries, 1)]


PROJECTIONS = _group(
    "projection",
    "SELECT * FROM emp",
    "SELECT id, name FROM emp",
    "SELECT e.id, e.* FROM emp AS e",
    "SELECT id + 1 AS next, salary * 2 AS twice FROM emp",
    "SELECT id AS a, id AS b, dept FROM emp WHERE salary > 4000",
    "SELECT 1 AS one, 'x' AS letter, TRUE AS yes, CAST(NULL AS INT) AS nothing",
    "SELECT CASE WHEN salary > 5000 THEN 'high' WHEN salary IS NULL THEN 'none' ELSE 'low' END AS class FROM emp",
    "SELECT CASE dept WHEN 10 THEN 'a' WHEN 20 THEN 'b' END AS code FROM emp",
    "SELECT COALESCE(dept, 0) AS d, NULLIF(dept, 10) AS n FROM emp",
    "SELECT CAST(salary AS VARCHAR) AS s, CAST(price AS DOUBLE) AS p FROM emp JOIN orders ON emp.id = orders.emp",
    "SELECT -id AS less, id % 3 AS rest FROM emp",
)
FILTERS = _group(
    "filter",
    "SELECT id FROM emp WHERE dept = 20 AND salary >= 6000",
    "SELECT id FROM emp WHERE dept = 10 OR salary IS NULL",
    "SELECT id FROM emp WHERE NOT (dept = 20)",
    "SELECT id FROM emp WHERE name LIKE '%a%' OR name LIKE 'E__'",
    "SELECT id FROM emp WHERE salary BETWEEN 4000 AND 6000",
    "SELECT id FROM emp WHERE salary NOT BETWEEN 4000 AND 6000",
    "SELECT id FROM emp WHERE dept IN (10, 40)",
    "SELECT id FROM emp WHERE dept NOT IN (10, 40)",
    "SELECT id FROM emp WHERE dept IS NOT NULL AND boss IS NULL",
    "SELECT id FROM emp WHERE hired < DATE '2020-12-31'",
    "SELECT id FROM orders WHERE placed >= TIMESTAMP '2024-05-06 10:04:00'",
    "SELECT a, b FROM pairs WHERE a IS DISTINCT FROM b",
    "SELECT a, b FROM pairs WHERE a IS NOT DISTINCT FROM b",
    "SELECT id FROM orders WHERE paid",
    "SELECT id FROM orders WHERE paid IS NOT TRUE",
    "SELECT id FROM emp WHERE NULL",
)
AGGREGATES = _group(
    "aggregate",
    "SELECT COUNT(*) AS n, COUNT(salary) AS k, SUM(salary) AS s, MIN(name) AS a, MAX(name) AS z FROM emp",
    "SELECT dept, COUNT(*) AS n, SUM(salary) AS s FROM emp GROUP BY dept",
    "SELECT dept, MAX(salary) - MIN(salary) AS spread FROM emp GROUP BY dept",
    "SELECT dept, COUNT(*) AS n FROM emp GROUP BY dept HAVING COUNT(*) > 1",
    "SELECT dept + 1 AS d, SUM(salary + 1) AS s FROM emp GROUP BY dept + 1",
    "SELECT COUNT(DISTINCT dept) AS d, COUNT(dept) AS n FROM emp",
    "SELECT item, COUNT(DISTINCT emp) AS e, SUM(DISTINCT amount) AS s FROM orders GROUP BY item",
    "SELECT item, COUNT(*) FILTER (WHERE paid) AS p, SUM(amount) FILTER (WHERE price > 2) AS s FROM orders "
    "GROUP BY item",
    "SELECT SUM(salary) AS s, COUNT(*) AS n FROM emp WHERE id > 100",
    "SELECT dept, SUM(salary) AS s FROM emp WHERE id > 100 GROUP BY dept",
    "SELECT CASE WHEN dept = 10 THEN 'x' ELSE 'y' END AS k, COUNT(*) AS n FROM emp "
    "GROUP BY CASE WHEN dept = 10 THEN 'x' ELSE 'y' END",
    "SELECT MAX(n) AS most FROM (SELECT dept, COUNT(*) AS n FROM emp GROUP BY dept) AS t",
    "SELECT dept FROM emp GROUP BY dept",
    "SELECT item, SUM(price) AS p, SUM(price * amount) AS total FROM orders GROUP BY item",
    "SELECT a, b, COUNT(*) AS n FROM pairs GROUP BY a, b",
    "SELECT 1 AS one FROM emp HAVING COUNT(*) > 3",
    "SELECT COUNT(*) AS n FROM emp HAVING COUNT(*) > 30",
)
GROUPING_SETS = _group(
    "grouping_sets",
    "SELECT item, emp, SUM(amount) AS s FROM orders GROUP BY GROUPING SETS ((item, emp), (item), ())",
    "SELECT item, emp, SUM(amount) AS s FROM orders GROUP BY ROLLUP (item, emp)",
    "SELECT item, emp, SUM(amount) AS s FROM orders GROUP BY CUBE (item, emp)",
    "SELECT item, emp, GROUPING(item) AS i, GROUPING(emp) AS e, GROUPING(item, emp) AS ie, COUNT(*) AS n FROM orders "
    "GROUP BY CUBE (item, emp)",
    "SELECT item, paid, COUNT(*) AS n FROM orders GROUP BY item, ROLLUP (paid)",
    "SELECT dept, COUNT(*) AS n FROM emp GROUP BY GROUPING SETS ((dept), ()) HAVING COUNT(*) > 1",
)
DISTINCTS = _group(
    "distinct",
    "SELECT DISTINCT dept FROM emp",
    "SELECT DISTINCT a, b FROM pairs",
    "SELECT DISTINCT COUNT(*) AS n FROM emp GROUP BY dept",
)
JOINS = _group(
    "join",
    "SELECT e.name, d.title FROM emp AS e JOIN dept AS d ON e.dept = d.id",
    "SELECT e.name, d.title FROM emp AS e LEFT JOIN dept AS d ON e.dept = d.id",
    "SELECT e.name, d.title FROM emp AS e RIGHT JOIN dept AS d ON e.dept = d.id",
    "SELECT e.name, d.title FROM emp AS e FULL JOIN dept AS d ON e.dept = d.id",
    "SELECT e.id AS e, d.id AS d FROM emp AS e CROSS JOIN dept AS d",
    "SELECT e.name, d.title FROM emp AS e, dept AS d WHERE e.dept = d.id AND e.salary > 4000",
    "SELECT e.name, b.name AS boss FROM emp AS e JOIN emp AS b ON e.boss = b.id",
    "SELECT e.name, o.item FROM emp AS e JOIN orders AS o ON e.id = o.emp AND o.amount > 3",
    "SELECT e.name, o.item FROM emp AS e LEFT JOIN orders AS o ON e.id = o.emp AND o.amount > 3",
    "SELECT e.id AS x, d.id AS y FROM emp AS e JOIN dept AS d ON e.id < d.id - 15",
    "SELECT id, title FROM dept JOIN (SELECT DISTINCT dept AS id FROM emp) AS t USING (id)",
    "SELECT * FROM dept LEFT JOIN (SELECT dept AS id, COUNT(*) AS n FROM emp GROUP BY dept) AS t USING (id)",
    "SELECT id, title, n FROM dept FULL JOIN (SELECT dept AS id, COUNT(*) AS n FROM emp GROUP BY dept) AS t USING (id)",
    "SELECT * FROM dept NATURAL JOIN (SELECT 10 AS id, 'x' AS mark) AS t",
    "SELECT e.name, d.title, o.item FROM emp AS e JOIN dept AS d ON e.dept = d.id "
    "LEFT JOIN orders AS o ON o.emp = e.id",
    "SELECT e.name, d.title, o.item FROM emp AS e, dept AS d, orders AS o WHERE e.dept = d.id AND o.emp = e.id",
    "SELECT d.city, SUM(o.amount) AS n FROM dept AS d JOIN emp AS e ON d.id = e.dept JOIN orders AS o ON o.emp = e.id "
    "GROUP BY d.city",
    "SELECT x.a, y.b FROM pairs AS x JOIN pairs AS y ON x.a = y.a AND x.b < y.b",
)
SETS = _group(
    "set",
    "SELECT dept AS k FROM emp UNION ALL SELECT id FROM dept",
    "SELECT dept AS k FROM emp UNION SELECT id FROM dept",
    "SELECT dept AS k FROM emp INTERSECT SELECT id FROM dept",
    "SELECT dept AS k FROM emp EXCEPT SELECT id FROM dept",
    "SELECT dept AS k FROM emp INTERSECT ALL SELECT id FROM dept",
    "SELECT a AS k FROM pairs EXCEPT ALL SELECT b FROM pairs",
    "SELECT a FROM pairs INTERSECT ALL SELECT b FROM pairs",
    "SELECT id FROM emp UNION ALL SELECT salary FROM emp UNION ALL SELECT 1",
    "(SELECT a FROM pairs UNION SELECT b FROM pairs) EXCEPT SELECT 1",
    "SELECT name AS k FROM emp UNION SELECT title FROM dept",
)
SUBQUERIES = _group(
    "subquery",
    "SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE city = 'Bonn')",
    "SELECT name FROM emp WHERE dept NOT IN (SELECT id FROM dept WHERE city = 'Bonn')",
    "SELECT id FROM dept WHERE id NOT IN (SELECT dept FROM emp)",
    "SELECT id FROM dept WHERE id NOT IN (SELECT dept FROM emp WHERE dept IS NOT NULL)",
    "SELECT title FROM dept AS d WHERE EXISTS (SELECT 1 FROM emp AS e WHERE e.dept = d.id)",
    "SELECT title FROM dept AS d WHERE NOT EXISTS (SELECT 1 FROM emp AS e WHERE e.dept = d.id AND e.salary > 6500)",
    "SELECT name FROM emp WHERE EXISTS (SELECT 1 FROM dept WHERE city = 'Bonn')",
    "SELECT name FROM emp WHERE EXISTS (SELECT 1 FROM dept WHERE city = 'Rome')",
    "SELECT name FROM emp WHERE salary = (SELECT MAX(salary) FROM emp)",
    "SELECT name, (SELECT MAX(salary) FROM emp) - salary AS less FROM emp",
    "SELECT name FROM emp AS e WHERE salary > (SELECT AVG(salary) FROM emp AS x WHERE x.dept = e.dept)",
    "SELECT title, (SELECT COUNT(*) FROM emp AS e WHERE e.dept = d.id) AS n FROM dept AS d",
    "SELECT title, (SELECT SUM(salary) FROM emp AS e WHERE e.dept = d.id) AS s FROM dept AS d",
    "SELECT title, (SELECT COALESCE(MAX(salary), -1) FROM emp AS e WHERE e.dept = d.id) AS s FROM dept AS d",
    "SELECT title, (SELECT COUNT(*) + d.id FROM emp AS e WHERE e.dept = d.id) AS n FROM dept AS d",
    "SELECT id, (SELECT COUNT(*) FROM emp AS x WHERE x.salary < e.salary) AS poorer FROM emp AS e",
    "SELECT id FROM emp AS e WHERE EXISTS (SELECT 1 FROM emp AS x WHERE x.dept = e.dept AND x.salary > e.salary)",
    "SELECT id, dept IN (SELECT id FROM dept) AS known FROM emp",
    "SELECT id, id IN (SELECT boss FROM emp) AS leads FROM emp",
    "SELECT id, dept NOT IN (SELECT id FROM dept) AS strange FROM emp",
    "SELECT id FROM dept AS d WHERE EXISTS (SELECT 1 FROM emp AS e WHERE e.dept = d.id) OR city IS NULL",
    "SELECT id FROM dept WHERE id IN (SELECT dept FROM emp) OR city = 'Bonn'",
    "SELECT id, EXISTS (SELECT 1 FROM orders AS o WHERE o.emp = e.id) AS orders FROM emp AS e",
    "SELECT dept, COUNT(*) AS n FROM emp GROUP BY dept HAVING COUNT(*) > (SELECT MIN(id) FROM emp)",
    "SELECT name FROM emp AS e WHERE id IN (SELECT o.emp FROM orders AS o WHERE o.amount < e.salary / 1000)",
    "SELECT title FROM dept AS d WHERE EXISTS (SELECT 1 FROM emp AS e WHERE e.dept = d.id AND EXISTS "
    "(SELECT 1 FROM orders AS o WHERE o.emp = e.id AND o.item = 'pen'))",
    "SELECT title FROM dept AS d WHERE EXISTS (SELECT 1 FROM emp AS e WHERE EXISTS "
    "(SELECT 1 FROM orders AS o WHERE o.emp = e.id AND e.dept = d.id AND o.id < d.id))",
    "SELECT dept, SUM(salary) AS s, (SELECT MAX(title) FROM dept AS d WHERE d.id = e.dept) AS title FROM emp AS e "
    "GROUP BY dept",
    "SELECT id, (SELECT o.item FROM orders AS o WHERE o.emp = e.id ORDER BY o.id DESC LIMIT 1) AS latest FROM emp AS e",
    "SELECT a FROM pairs AS p WHERE a NOT IN (SELECT q.b FROM pairs AS q WHERE q.b <> p.b)",
    "SELECT (SELECT title FROM dept WHERE id = 77) AS missing, (SELECT COUNT(*) FROM dept) AS n",
    "SELECT d.id, t.name FROM dept AS d, LATERAL (SELECT e.name FROM emp AS e WHERE e.dept = d.id) AS t",
    "SELECT d.id, t.n FROM dept AS d LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM emp AS e WHERE e.dept = d.id) AS t "
    "ON TRUE",
    "SELECT d.id, t.name FROM dept AS d, LATERAL (SELECT e.name FROM emp AS e WHERE e.dept = d.id AND e.salary > 0 "
    "ORDER BY e.salary DESC, e.id LIMIT 1) AS t",
    "SELECT id FROM dept AS d WHERE 2 IN (SELECT e.boss FROM emp AS e WHERE e.dept = d.id UNION SELECT d.id - 48)",
    "SELECT (SELECT MAX(x) FROM (SELECT d.id + 1 AS x) AS t) AS up FROM dept AS d",
)
OVERS = _group(
    "over",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY id) AS n FROM emp",
    "SELECT id, SUM(salary) OVER (PARTITION BY dept) AS s FROM emp",
    "SELECT id, SUM(salary) OVER (PARTITION BY dept ORDER BY id) AS s FROM emp",
    "SELECT id, SUM(salary) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
    "AS s FROM emp",
    "SELECT id, COUNT(*) OVER w AS n, MAX(id) OVER w AS m FROM emp WINDOW w AS (PARTITION BY dept ORDER BY id)",
    "SELECT id, LAG(id) OVER (ORDER BY id) AS before, LEAD(id, 2, -1) OVER (ORDER BY id) AS later FROM emp",
    "SELECT dept, SUM(salary) AS s, RANK() OVER (ORDER BY COUNT(*)) AS r FROM emp WHERE dept < 40 GROUP BY dept",
    "SELECT dept, SUM(SUM(salary)) OVER () AS total FROM emp GROUP BY dept",
    "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY id DESC) AS n FROM emp) AS t "
    "WHERE n <= 1",
    "SELECT id, n FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC, id) AS n FROM orders) "
    "AS t WHERE n <= 2",
    "SELECT id, r FROM (SELECT id, RANK() OVER (PARTITION BY item ORDER BY price) AS r FROM orders) AS t WHERE r < 3",
    "SELECT id FROM emp QUALIFY ROW_NUMBER() OVER (PARTITION BY dept ORDER BY id) = 1",
    "SELECT id, AVG(amount) OVER (PARTITION BY item ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) > 5 "
    "AS big FROM orders",
    "SELECT id, FIRST_VALUE(item) OVER (PARTITION BY emp ORDER BY id) AS f FROM orders",
    "SELECT id, DENSE_RANK() OVER (PARTITION BY id % 2 ORDER BY dept + 1, id) AS r FROM emp WHERE dept > 0",
    "SELECT id, SUM(salary) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s "
    "FROM emp",
    "SELECT id, COUNT(*) OVER (ORDER BY id RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS n FROM emp",
    "SELECT id, NTILE(3) OVER (ORDER BY id) AS b, PERCENT_RANK() OVER (ORDER BY id) AS p, "
    "CUME_DIST() OVER (ORDER BY id DESC) AS c FROM emp",
    "SELECT dept, MAX(s) OVER (ORDER BY dept ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS m "
    "FROM (SELECT dept, SUM(salary) AS s FROM emp WHERE dept > 0 GROUP BY dept) AS t",
    "SELECT item, SUM(price) OVER (PARTITION BY emp ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM "
    "(SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC, id) AS n FROM orders) AS t WHERE n <= 1",
    # New ones stand at the end: tests name the others by their numbers.
    "SELECT id, dept AS d, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY id) AS n FROM emp QUALIFY n = 1 AND d > 0",
)
SORTS = _sorted(
    "sort",
    "SELECT id FROM emp ORDER BY id DESC",
    "SELECT name, salary FROM emp WHERE salary > 0 ORDER BY salary DESC, id LIMIT 3",
    "SELECT id FROM emp ORDER BY id LIMIT 2 OFFSET 3",
    "SELECT id AS k, salary FROM emp ORDER BY 1 DESC",
    "SELECT id AS k FROM emp ORDER BY k + 0",
    "SELECT id + 1 AS k FROM emp ORDER BY k DESC",
    "SELECT id FROM emp ORDER BY salary NULLS LAST, id DESC",
    "SELECT dept, COUNT(*) AS n FROM emp GROUP BY dept ORDER BY COUNT(*) DESC, dept NULLS FIRST",
    "SELECT dept FROM emp GROUP BY dept ORDER BY SUM(salary) DESC NULLS LAST",
    "SELECT DISTINCT dept FROM emp WHERE dept > 0 ORDER BY dept DESC",
    "SELECT a FROM pairs WHERE a > 0 UNION SELECT b FROM pairs WHERE b > 0 ORDER BY a DESC LIMIT 2",
    "SELECT id FROM (SELECT id FROM emp ORDER BY id LIMIT 4) AS t ORDER BY id DESC",
    "SELECT id FROM emp ORDER BY id OFFSET 6 ROWS",
    "SELECT id FROM emp ORDER BY id FETCH FIRST 2 ROWS ONLY",
)
SORT_NULLS = [
    Query(
        "sort_nulls_1",
        "SELECT id, dept FROM emp ORDER BY dept, id",
        True,
        "SELECT id, dept FROM emp ORDER BY dept NULLS FIRST, id",
    ),
    Query(
        "sort_nulls_2",
        "SELECT id, dept FROM emp ORDER BY dept DESC, id",
        True,
        "SELECT id, dept FROM emp ORDER BY dept DESC NULLS LAST, id",
    ),
]
WITHS = _group(
    "with",
    "WITH t AS (SELECT dept, COUNT(*) AS n FROM emp GROUP BY dept) SELECT t.dept, d.title, n FROM t JOIN dept AS d "
    "ON t.dept = d.id",
    "WITH a AS (SELECT id FROM emp), b AS (SELECT id FROM a WHERE id > 3) SELECT a.id FROM a JOIN b ON a.id = b.id",
    "WITH t (k, n) AS (SELECT dept, COUNT(*) FROM emp GROUP BY dept) SELECT k FROM t WHERE n > 1",
    "SELECT * FROM (WITH t AS (SELECT 1 AS x) SELECT x + 1 AS y FROM t) AS u",
    "WITH t AS (SELECT id FROM emp) SELECT id FROM t WHERE id IN (WITH t AS (SELECT 2 AS z) SELECT z FROM t)",
)
VALUES = _group(
    "values",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, NULL)) AS t (n, s)",
    "SELECT n * 2 AS m FROM (VALUES (1), (2)) AS t (n)",
    "SELECT t.n FROM (VALUES (1.5), (2)) AS t (n)",
    "SELECT e.id FROM emp AS e JOIN (VALUES (1), (3)) AS t (id) ON e.id = t.id",
)

QUERIES: list[Query] = [
    *PROJECTIONS,
    *FILTERS,
    *AGGREGATES,
    *GROUPING_SETS,
    *DISTINCTS,
    *JOINS,
    *SETS,
    *SUBQUERIES,
    *OVERS,
    *SORTS,
    *SORT_NULLS,
    *WITHS,
    *VALUES,
]
