"""Mistakes in SQL: names, types, and queries that can't be run as a stream."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import sql

TITLE = "Queries"

ORDERS = (
    "CREATE TABLE orders (id BIGINT, name STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)\n"
    "  WITH ('connector' = 'datagen', 'number-of-rows' = '3');\n"
)
PLAIN = "CREATE TABLE payments (id BIGINT, at TIMESTAMP(3)) WITH ('connector' = 'datagen', 'number-of-rows' = '3');\n"
SINK = "CREATE TABLE sink (id BIGINT, name STRING) WITH ('connector' = 'print');\n"
FILES = "CREATE TABLE files (name STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv');\n"
RATES = "CREATE TABLE rates (id BIGINT, rate INT, at TIMESTAMP(3)) WITH ('connector' = 'datagen', 'number-of-rows' = '3');\n"


def q(title, text, says=(), cause="", cure="", tables=ORDERS, **more):
    return sql(title, tables + text, says, cause, cure, **more)


MISTAKES = (
    q("A table that there is not", "SELECT * FROM order_s;  -- <-\n", ("'orders'",)),
    q("A column that there is not", "SELECT nam FROM orders;\n", ("'name'",)),
    q("A function that there is not", "SELECT UPER(name) FROM orders;\n", ("'UPPER'",)),
    q("Too few arguments", "SELECT SPLIT_INDEX(name, ',') FROM orders;\n", ("SPLIT_INDEX",)),
    q("A keyword that is misspelt", "SELECT * FORM orders;\n", ("FROM",)),
    q("SELEC", "SELEC * FROM orders;\n", ("SELECT",)),
    q("Text in double quotes", "SELECT * FROM orders WHERE name = \"Ann\";\n", ("'Ann'",)),
    q("A quote that is not closed", "SELECT * FROM orders WHERE name = 'Ann;\n", ("quote",)),
    q("A comma too many", "SELECT id, name, FROM orders;\n", (",",)),
    q("A semicolon forgotten", "SELECT id FROM orders\nSELECT name FROM orders;\n", (";",)),
    q("A reserved word as a name", "SELECT timestamp FROM orders;\n", ("`",)),
    q("create table with reserved word", "CREATE TABLE t (timestamp TIMESTAMP(3), value INT) WITH ('connector' = 'print');\n", ("`",), tables=""),
    q("A type that there is not", "CREATE TABLE t (a TEXT) WITH ('connector' = 'print');\n", ("STRING",), tables=""),
    q("type typo", "CREATE TABLE t (a STRNG) WITH ('connector' = 'print');\n", ("STRING",), tables=""),
    q("A text compared with a number", "SELECT * FROM orders WHERE id = 'x' + 1;\n", ()),
    q("text compared with date", "SELECT * FROM orders WHERE id = DATE '2024-05-06';\n", ()),
    q("A column that is not grouped", "SELECT id, name FROM orders GROUP BY id;\n", ("GROUP BY",)),
    q("An aggregate beside a plain column", "SELECT name, COUNT(*) FROM orders;\n", ("GROUP BY",)),
    q("An aggregate in WHERE", "SELECT name FROM orders WHERE COUNT(*) > 1 GROUP BY name;\n", ("HAVING",)),
    q("A column of two tables", "SELECT id FROM orders JOIN payments ON orders.id = payments.id;\n", ("orders.id",), tables=ORDERS + PLAIN),
    q("ORDER BY of a stream", "SELECT * FROM orders ORDER BY amount;\n", ("LIMIT",)),
    q("A join without an equality", "SELECT * FROM orders JOIN payments ON orders.id > payments.id;\n", (), tables=ORDERS + PLAIN),
    q("A temporal join without a key", "SELECT * FROM orders LEFT JOIN rates FOR SYSTEM_TIME AS OF orders.ts AS r ON orders.id = r.id;\n", ("PRIMARY KEY",), tables=ORDERS + RATES),
    q("A window over a column that is no time", "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(amount), INTERVAL '1' HOUR)) GROUP BY window_start, window_end;\n", ("TIMESTAMP",)),
    q("A window without a watermark", "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' HOUR)) GROUP BY window_start, window_end;\n", ("WATERMARK",), tables=PLAIN),
    q("A window's size that is no interval", "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), 60)) GROUP BY window_start, window_end;\n", ("INTERVAL",)),
    q("TABLE forgotten", "SELECT * FROM TUMBLE(orders, DESCRIPTOR(ts), INTERVAL '1' HOUR);\n", ("TABLE",)),
    q("A watermark on a text", "CREATE TABLE t (at STRING, WATERMARK FOR at AS at) WITH ('connector' = 'datagen');\n", ("TIMESTAMP",), tables=""),
    q("A watermark on a number", "CREATE TABLE t (at BIGINT, WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'datagen');\n", ("TO_TIMESTAMP_LTZ",), tables=""),
    q("An enforced key", "CREATE TABLE t (id INT PRIMARY KEY) WITH ('connector' = 'print');\n", ("NOT ENFORCED",), tables=""),
    q("Too few columns for a table", "INSERT INTO sink SELECT id FROM orders;\n", ("2 columns",), tables=ORDERS + SINK),
    q("Columns in another order", "INSERT INTO sink SELECT name, id FROM orders;\n", ("BIGINT",), tables=ORDERS + SINK),
    q("Updates for a file", "INSERT INTO files SELECT name, COUNT(*) FROM orders GROUP BY name;\n", ("updates",), tables=ORDERS + FILES),
    q("Reading a sink", "SELECT * FROM sink;\n", ("'print'",), tables=SINK),
    q("Writing into a source", "INSERT INTO orders SELECT * FROM orders;\n", ("'datagen'",)),
    q("A table that is there already", "CREATE TABLE orders (id INT) WITH ('connector' = 'print');\n", ("IF NOT EXISTS",)),
    q("drop table not there", "DROP TABLE order_s;\n", ("orders", "IF EXISTS")),
    q("A database that there is not", "USE shop;\n", ("shop",), tables=""),
    q("use catalog", "USE CATALOG hive;\n", ("hive",), tables=""),
    q("A text that is no number", "SELECT CAST('abc' AS INT);\n", ("TRY_CAST",), tables=""),
    q("A statement set in a statement set", "BEGIN STATEMENT SET;\nBEGIN STATEMENT SET;\nEND;\n", ("END",), tables=""),
    q("END without BEGIN", "END;\n", ("BEGIN",), tables=""),
    q("A statement that there is not", "SHOW TABELS;\n", ("TABLES",), tables=""),
    q("BEGIN TRANSACTION", "BEGIN TRANSACTION;\n", ("STATEMENT SET",), tables=""),
    q("A setting that is misspelt", "SET 'table.exec.stat.ttl' = '1 h';\n", ("'table.exec.state.ttl'",), tables="", exit_code=0),
    q("A setting of the wrong type", "SET 'table.exec.state.ttl' = 'soon';\n", ("table.exec.state.ttl", "soon"), tables=""),
    q("A setting that is refused", "SET 'table.sql-dialect' = 'hive';\n", ("hive",), tables=""),
    q("Error in several lines", "SELECT\n  id,\n  nam\nFROM orders;\n", ("'name'", "script.sql:5:3")),
    q("A pattern without DEFINE", "SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a PATTERN (A B) DEFINE C AS C.id > 1);\n", ("C",)),
    q("Interval join without time", "SELECT * FROM orders JOIN payments ON orders.id = payments.id AND at BETWEEN ts AND ts + INTERVAL '1' HOUR;\n", (), tables=ORDERS + PLAIN),
)
