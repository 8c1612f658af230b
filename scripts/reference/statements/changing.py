"""Statements that write rows."""

from __future__ import annotations

from .entry import Entry

TITLE = "INSERT and other changes"
_PRINT = "CREATE TABLE shown (name STRING, amount INT) WITH ('connector' = 'print');\n"
_BATCH = "it runs in batch mode only, on Spark"
ENTRIES = (
    Entry(
        "INSERT",
        """
[EXECUTE] INSERT {INTO | OVERWRITE} table [/*+ OPTIONS('option' = 'value', ..) */]
[PARTITION (column = value, ..)] [(column, ..)] query
[ON CONFLICT DO {ERROR | NOTHING | DEDUPLICATE}]""",
        "A job that writes a query's rows. Columns that are not named become NULL. OVERWRITE, in batch mode, replaces what was "
        "there (of the partitions that are written). `SET 'table.dml-sync' = 'true'` waits for the end of each. "
        "ON CONFLICT is for tables with a PRIMARY KEY that take upserts, where the query has another key: DEDUPLICATE, as "
        "without the clause, writes the last row of a key; NOTHING keeps the first, and ERROR fails at the second. Both "
        "are for streaming mode, from tables with a watermark: of rows that change those count that there are at a "
        "watermark, and what NOTHING has left out does not come back when the first row goes.",
        _PRINT + "INSERT INTO shown (name) SELECT name FROM orders WHERE amount > 2;",
    ),
    Entry(
        "STATEMENT SET",
        "[EXECUTE] STATEMENT SET BEGIN insert; .. END\nBEGIN STATEMENT SET; insert; .. END",
        "Several INSERTs as one job, which reads each source once.",
        _PRINT
        + "CREATE TABLE products (product STRING) WITH ('connector' = 'print', 'print-identifier' = 'product');\n"
        + "STATEMENT SET BEGIN\n    INSERT INTO shown SELECT name, amount FROM orders WHERE amount > 3;\n"
        + "    INSERT INTO products SELECT product FROM orders WHERE amount > 3;\nEND;",
    ),
    Entry(
        "UPDATE",
        "UPDATE table SET column = expression, .. [WHERE condition]",
        "Changes rows in place, in batch mode, where the connector can (`filesystem`, databases, stores).",
        "UPDATE orders SET amount = amount + 1 WHERE name = 'Ann';",
        elsewhere=_BATCH,
    ),
    Entry(
        "DELETE",
        "DELETE FROM table [WHERE condition]",
        "Deletes rows, where UPDATE can change them.",
        "DELETE FROM orders WHERE amount = 1;",
        elsewhere=_BATCH,
    ),
    Entry(
        "TRUNCATE TABLE",
        "TRUNCATE TABLE table",
        "Deletes all rows of a table, in batch mode.",
        "TRUNCATE TABLE orders;",
        elsewhere=_BATCH,
    ),
    Entry(
        "CALL",
        "CALL [catalog.][database.]procedure(value, .. | name => value, ..)",
        "A procedure of a catalog (a `Catalog` of your own has some).",
        "CALL system.expire('orders', older_than => INTERVAL '1' DAY);",
        elsewhere="the catalog that a session begins with has no procedures",
    ),
)
