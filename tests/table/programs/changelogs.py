"""Tables that change, through filters, aggregates, joins, sets, Top-N: the result is that over what is left of them."""

from __future__ import annotations

from tests.table.programs.changing import ACCOUNTS, MOVES, STOCK
from tests.table.programs.program import Program

TABLES = (STOCK, ACCOUNTS, MOVES)
ALL, NO_DELETES = "[I,UB,UA,D]", "[I,UB,UA]"


def _programs(prefix: str, *queries: str, changes: str | None = ALL, operators: tuple[str, ...] = ()) -> list[Program]:
    return [
        Program(f"{prefix}_{number}", sql, TABLES, changes=changes, operators=operators)
        for number, sql in enumerate(queries, 1)
    ]


SIMPLE = [
    *_programs(
        "change_rows",
        "SELECT * FROM stock",
        "SELECT id, amount * 2 AS twice FROM stock WHERE amount > 4",
        "SELECT item FROM stock WHERE shop = 'north'",
    ),
    *_programs(
        "change_upserts",
        "SELECT * FROM accounts",
        "SELECT owner, balance FROM accounts WHERE balance > 40",
        "SELECT city FROM accounts",
        operators=("ChangelogNormalize",),
    ),
]
AGGREGATES = _programs(
    "change_aggregate",
    "SELECT shop, COUNT(*) AS n, SUM(amount) AS s, SUM(price) AS p FROM stock GROUP BY shop",
    "SELECT item, MIN(amount) AS lo, MAX(amount) AS hi, MIN(price) AS cheap FROM stock GROUP BY item",
    "SELECT shop, AVG(price) AS a, COUNT(amount) AS n FROM stock GROUP BY shop",
    "SELECT shop, COUNT(DISTINCT item) AS d, SUM(DISTINCT amount) AS s FROM stock GROUP BY shop",
    "SELECT item, COUNT(*) FILTER (WHERE amount > 5) AS n, SUM(price) FILTER (WHERE shop = 'north') AS s FROM stock "
    "GROUP BY item",
    "SELECT shop, VAR_POP(price) AS v, STDDEV_SAMP(price) AS d, VAR_SAMP(CAST(amount AS DOUBLE)) AS w FROM "
    "stock GROUP BY shop",
    "SELECT COUNT(*) AS n FROM stock GROUP BY shop, item",
    "SELECT shop, SUM(amount) AS s FROM stock GROUP BY shop HAVING SUM(amount) > 6",
    "SELECT shop, item, SUM(amount) AS s FROM stock GROUP BY CUBE (shop, item)",
    "SELECT item, shop, COUNT(*) AS n FROM stock GROUP BY GROUPING SETS ((item), (shop), (item, shop))",
    "SELECT city, SUM(balance) AS s, COUNT(*) AS n, MAX(owner) AS o FROM accounts GROUP BY city",
    "SELECT n, COUNT(*) AS cities FROM (SELECT city, COUNT(*) AS n FROM accounts GROUP BY city) AS t GROUP BY n",
    "SELECT MAX(s) AS m, COUNT(*) AS n FROM (SELECT owner, SUM(balance) AS s FROM accounts GROUP BY owner) AS t "
    "GROUP BY s > 60",
    "SELECT DISTINCT shop FROM stock",
    "SELECT DISTINCT owner, city FROM accounts WHERE balance IS NOT NULL",
    "SELECT shop, COUNT(DISTINCT item) FILTER (WHERE price > 1.6) AS d FROM stock GROUP BY shop",
    "SELECT shop, MAX(item) AS x, MIN(shop) AS y, SUM(CASE WHEN item = 'pen' THEN 1 ELSE 0 END) AS pens FROM stock "
    "GROUP BY shop",
    changes=None,
)
WITHOUT_KEYS = _programs(
    "change_total",
    "SELECT COUNT(*) AS n, SUM(amount) AS s, MIN(price) AS lo, MAX(price) AS hi FROM stock",
    "SELECT SUM(balance) AS s, COUNT(DISTINCT city) AS c FROM accounts",
    "SELECT SUM(s) AS total, MAX(n) AS most FROM (SELECT shop, SUM(amount) AS s, COUNT(*) AS n FROM stock "
    "GROUP BY shop) AS t",
    changes=None,
)
JOINS = [
    *_programs(
        "change_join",
        "SELECT a.id, a.owner, m.amount FROM accounts AS a JOIN moves AS m ON a.id = m.account",
        "SELECT m.account, m.amount, a.owner FROM moves AS m LEFT JOIN accounts AS a ON a.id = m.account",
        "SELECT m.account, m.amount, a.owner FROM moves AS m RIGHT JOIN accounts AS a ON a.id = m.account",
        "SELECT m.account, m.amount, a.owner FROM moves AS m FULL JOIN accounts AS a ON a.id = m.account",
        "SELECT a.owner, s.shop FROM accounts AS a JOIN stock AS s ON a.balance > s.amount * 10",
        "SELECT a.owner, s.shop, s.id FROM accounts AS a LEFT JOIN stock AS s ON a.id = s.id AND s.price > 1.6",
        "SELECT a.owner, s.shop, s.id FROM accounts AS a FULL JOIN stock AS s ON a.id = s.id AND s.price > 1.6",
        "SELECT x.id, y.id AS other FROM stock AS x JOIN stock AS y ON x.item = y.item AND x.id < y.id",
        "SELECT x.id, y.id AS other FROM stock AS x LEFT JOIN stock AS y ON x.item = y.item AND x.id < y.id",
        "SELECT a.owner, t.n FROM accounts AS a JOIN (SELECT account, COUNT(*) AS n FROM moves GROUP BY account) AS t "
        "ON a.id = t.account",
        "SELECT a.city, SUM(m.amount) AS s FROM accounts AS a LEFT JOIN moves AS m ON a.id = m.account GROUP BY a.city",
        "SELECT s.n, t.n AS m FROM (SELECT shop, COUNT(*) AS n FROM stock GROUP BY shop) AS s FULL JOIN "
        "(SELECT item, COUNT(*) AS n FROM stock GROUP BY item) AS t ON s.n = t.n",
    ),
    *_programs(
        "change_semi",
        "SELECT id, owner FROM accounts WHERE id IN (SELECT account FROM moves)",
        "SELECT id FROM accounts AS a WHERE EXISTS (SELECT 1 FROM stock AS s WHERE s.id = a.id AND s.amount > 4)",
        "SELECT amount FROM moves WHERE account IN (SELECT id FROM accounts WHERE balance > 20)",
    ),
    *_programs(
        "change_anti",
        "SELECT id, owner FROM accounts AS a WHERE NOT EXISTS (SELECT 1 FROM moves AS m WHERE m.account = a.id)",
        "SELECT id, item FROM stock WHERE id NOT IN (SELECT id FROM accounts WHERE city = 'Kiel')",
        "SELECT amount FROM moves WHERE account NOT IN (SELECT id FROM accounts)",
        "SELECT amount FROM moves WHERE account NOT IN (SELECT balance FROM accounts)",
        changes=None,
    ),
]
SETS = _programs(
    "change_set",
    "SELECT id FROM stock UNION ALL SELECT id FROM accounts",
    "SELECT item AS x FROM stock UNION SELECT city FROM accounts",
    "SELECT id FROM stock INTERSECT SELECT id FROM accounts",
    "SELECT amount FROM stock INTERSECT ALL SELECT amount FROM moves",
    "SELECT id FROM stock EXCEPT SELECT account FROM moves",
    "SELECT shop FROM stock EXCEPT ALL SELECT 'south'",
    "SELECT item FROM stock EXCEPT ALL SELECT item FROM stock WHERE price < 1.6",
    "(SELECT item FROM stock INTERSECT ALL SELECT item FROM stock WHERE id > 2) UNION ALL SELECT owner FROM accounts",
    changes=None,
)
TOPS = _programs(
    "change_top",
    "SELECT shop, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY price DESC, id) AS n FROM stock) "
    "AS t WHERE n <= 2",
    "SELECT city, id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY city ORDER BY balance DESC NULLS LAST, id) "
    "AS n FROM accounts) AS t WHERE n <= 2",
    "SELECT item, s FROM (SELECT item, s, ROW_NUMBER() OVER (ORDER BY s DESC NULLS LAST, item) AS n FROM "
    "(SELECT item, SUM(amount) AS s FROM stock GROUP BY item) AS g) AS t WHERE n <= 2",
    "SELECT id, r FROM (SELECT id, RANK() OVER (PARTITION BY item ORDER BY amount DESC NULLS LAST) AS r FROM stock) "
    "AS t WHERE r <= 1",
    "SELECT id, r FROM (SELECT id, DENSE_RANK() OVER (ORDER BY amount DESC NULLS LAST) AS r FROM stock) AS t "
    "WHERE r <= 2",
    "SELECT id, balance FROM accounts ORDER BY balance DESC NULLS LAST, id LIMIT 3",
    "SELECT id FROM stock ORDER BY price, id LIMIT 2 OFFSET 1",
    "SELECT MAX(id) AS best, COUNT(*) AS n FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id) "
    "AS n FROM stock) AS t WHERE n = 1",
    "SELECT id, n FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY price DESC, id) AS n FROM stock) "
    "AS t WHERE n BETWEEN 2 AND 3",
    changes=None,
)
PROGRAMS = [*SIMPLE, *AGGREGATES, *WITHOUT_KEYS, *JOINS, *SETS, *TOPS]
