"""Hints of queries and tables."""

from __future__ import annotations

from .entry import Entry

_JOIN = "SELECT /*+ {hint} */ o.name, p.price\nFROM orders AS o JOIN prices AS p ON o.product = p.product AND o.amount > p.price - 3;"
ENTRIES = (
    Entry(
        "OPTIONS",
        "table /*+ OPTIONS('option' = 'value', ..) */",
        "Other options of a table, in this query or INSERT only.",
        "CREATE TABLE rows_of (n INT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence',\n"
        "    'fields.n.start' = '1', 'fields.n.end' = '1000');\n"
        "SELECT n FROM rows_of /*+ OPTIONS('fields.n.end' = '2') */;",
    ),
    Entry(
        "STATE_TTL",
        "SELECT /*+ STATE_TTL('table' = 'duration', ..) */",
        "How long the rows of an input of a join, or the groups of an aggregate, stay in state, in streaming mode: in the "
        "place of `table.exec.state.ttl`.",
        "SELECT /*+ STATE_TTL('orders' = '1 d') */ name, COUNT(*) AS n FROM orders GROUP BY name;",
    ),
    Entry(
        "LOOKUP",
        "SELECT /*+ LOOKUP('table' = 'name', 'option' = 'value', ..) */",
        "How a table is asked: `retry-predicate`, `retry-strategy`, `fixed-delay`, `max-attempts`, `timeout`, `capacity`, "
        "`shuffle`, `async`, `output-mode`: [lookups](../guide/lookups.md#the-hint).",
        "CREATE TABLE stock (product STRING, pieces INT)\nWITH ('connector' = 'filesystem', 'path' = 'stock.csv', 'format' = 'csv');\n"
        "SELECT /*+ LOOKUP('table' = 's', 'shuffle' = 'true') */ o.name, s.pieces\n"
        "FROM (SELECT *, PROCTIME() AS asked FROM orders WHERE amount > 2) AS o\n"
        "JOIN stock FOR SYSTEM_TIME AS OF o.asked AS s ON o.product = s.product;",
    ),
    *(
        Entry(
            name,
            f"SELECT /*+ {name}(table, ..) */",
            meaning,
            _JOIN.format(hint=f"{name}(p)" if name != "MULTI_JOIN" else "MULTI_JOIN(o, p)"),
        )
        for name, meaning in (
            ("BROADCAST", "In batch mode Spark sends the table to all tasks. Without effect in streaming mode."),
            ("SHUFFLE_HASH", "In batch mode Spark builds a hash table of it. Without effect in streaming mode."),
            ("SHUFFLE_MERGE", "In batch mode Spark sorts and merges. Without effect in streaming mode."),
            ("NEST_LOOP", "In batch mode each row is compared with each. Without effect in streaming mode."),
            ("MULTI_JOIN", "Taken and without effect: several joins stay several operators."),
        )
    ),
)  # fmt: skip
