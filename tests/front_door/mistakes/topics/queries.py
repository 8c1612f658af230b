"""Mistakes in SQL: words, names, types, and what can't be asked of a stream."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import Mistake, Way

TITLE = "SQL"

TABLES = """\
CREATE TABLE orders (id BIGINT, name STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE payments (id BIGINT, `at` TIMESTAMP(3))
  WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE sink (id BIGINT, name STRING) WITH ('connector' = 'print');
CREATE TABLE files (name STRING, n BIGINT)
  WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv');
"""
INTRODUCTION = f"""\
The statements are run behind these (`millrace sql -i tables.sql -f script.sql`):

```sql
{TABLES}```
"""


def sql(title: str, text: str, says: tuple[str, ...], cause: str, cure: str, exit_code: int = 1) -> Mistake:
    options = ("-i", "tables.sql")
    return Mistake(title, Way.SQL, text, says, cause, cure, options, {"tables.sql": TABLES}, exit_code=exit_code)


MISTAKES = (
    sql(
        "A table that there is not",
        "SELECT * FROM order_s;\n",
        ("script.sql:1:15", "'order_s'", "did you mean 'orders'"),
        "No table or view has this name in the current catalog and database.",
        "Use the name that is proposed; `SHOW TABLES` lists all.",
    ),
    sql(
        "A column that there is not",
        "SELECT\n  id,\n  nam\nFROM orders;\n",
        ("script.sql:3:3", "'nam'", "did you mean 'name'", "id, name, amount, ts"),
        "The table has no column of this name; the message lists those that it has.",
        "Use the name that is proposed.",
    ),
    sql(
        "A function that there is not",
        "SELECT UPER(name) FROM orders;\n",
        ("script.sql:1:8", "UPER()", "did you mean 'UPPER'"),
        "Neither Flink nor the session has a function of this name.",
        "Use the name that is proposed; [functions](sql-functions.md) lists all.",
    ),
    sql(
        "Too few arguments",
        "SELECT SPLIT_INDEX(name, ',') FROM orders;\n",
        ("script.sql:1:8", "SPLIT_INDEX does not take", "(STRING, STRING, INTEGER)"),
        "The function takes other arguments, as the message says.",
        "Give what is missing.",
    ),
    sql(
        "A keyword that is misspelt",
        "SELECT * FORM orders;\n",
        ("script.sql:1:10", "'FORM'", "did you mean 'FROM'"),
        "The word is no keyword, and a name can't stand there.",
        "Use the word that is proposed.",
    ),
    sql(
        "A statement that there is not",
        "SHOW TABELS;\n",
        ("script.sql:1:6", "TABELS", "did you mean 'TABLES'"),
        "No statement begins like this.",
        "Use the word that is proposed.",
    ),
    sql(
        "Text in double quotes",
        'SELECT * FROM orders WHERE name = "Ann";\n',
        ("script.sql:1:35", "'single quotes'", "`backticks`"),
        "Double quotes mean nothing in Flink SQL.",
        "Write text in single quotes, names in backticks.",
    ),
    sql(
        "A quote that is not closed",
        "SELECT * FROM orders WHERE name = 'Ann;\n",
        ("script.sql:1:35", "no closing quote"),
        "The text goes on to the end of the script.",
        "Close it; a quote within a text is written twice: `'Ann''s'`.",
    ),
    sql(
        "A comma too many",
        "SELECT id, name, FROM orders;\n",
        ("script.sql:1:18", "'FROM'", "name or an expression"),
        "Behind a comma another column is expected.",
        "Take the comma away. A column that is called like a keyword is written in backticks.",
    ),
    sql(
        "A semicolon that was forgotten",
        "SELECT id FROM orders\nSELECT name FROM orders;\n",
        ("script.sql:2:1", "SELECT begins another statement", "';'"),
        "Only a semicolon ends a statement.",
        "Write one before the place that is shown.",
    ),
    sql(
        "A data type of another database",
        "CREATE TABLE people (name TEXT) WITH ('connector' = 'print');\n",
        ("script.sql:1:27", "'TEXT'", "here it is STRING"),
        "The type is called otherwise in Flink SQL.",
        "Use the type that is proposed.",
    ),
    sql(
        "A number and a date compared",
        "SELECT * FROM orders WHERE id = DATE '2024-05-06';\n",
        ("script.sql:1:28", "(BIGINT, DATE)", "CAST"),
        "The values are of types that can't be compared.",
        "Convert one of them with `CAST`.",
    ),
    sql(
        "A column that is not grouped",
        "SELECT id, name FROM orders GROUP BY id;\n",
        ("script.sql:1:12", "'name'", "GROUP BY", "aggregate"),
        "A group has many values of that column.",
        "Group by it, too, or say which value: `MAX(name)`, `FIRST_VALUE(name)`.",
    ),
    sql(
        "An aggregate beside a plain column",
        "SELECT name, COUNT(*) FROM orders;\n",
        ("script.sql:1:8", "'name'", "GROUP BY"),
        "Without GROUP BY there is one row for all, which has no name of its own.",
        "Add `GROUP BY name`.",
    ),
    sql(
        "An aggregate in WHERE",
        "SELECT name FROM orders WHERE COUNT(*) > 1 GROUP BY name;\n",
        ("script.sql:1:31", "COUNT", "HAVING"),
        "WHERE looks at single rows, before they are grouped.",
        "Write the condition in HAVING.",
    ),
    sql(
        "A column of two tables",
        "SELECT id FROM orders JOIN payments ON orders.id = payments.id;\n",
        ("script.sql:1:8", "'id' is ambiguous", "table's name in front"),
        "Both tables have a column of this name.",
        "Write `orders.id`.",
    ),
    sql(
        "A temporal join with a table without a key",
        "SELECT * FROM orders LEFT JOIN payments FOR SYSTEM_TIME AS OF orders.ts AS p ON orders.id = p.id;\n",
        ("script.sql:1:32", "'payments' has no versions", "PRIMARY KEY"),
        "The join looks for the row of a key that counted at that time.",
        "Declare `PRIMARY KEY (id) NOT ENFORCED` and a watermark for the other table.",
    ),
    sql(
        "A window over a column that is no time",
        "SELECT COUNT(*)\nFROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(amount), INTERVAL '1' HOUR))\n"
        "GROUP BY window_start, window_end;\n",
        ("script.sql:2:33", "TIMESTAMP", "'amount' is INT"),
        "Windows are cut from time.",
        "Name a column of type TIMESTAMP or TIMESTAMP_LTZ with a watermark.",
    ),
    sql(
        "A window without a watermark",
        "SELECT COUNT(*)\nFROM TABLE(TUMBLE(TABLE payments, DESCRIPTOR(`at`), INTERVAL '1' HOUR))\n"
        "GROUP BY window_start, window_end;\n",
        ("script.sql:2:35", "'at'", "WATERMARK"),
        "Without watermarks nobody knows when a window is complete.",
        "Declare one in CREATE TABLE: ``WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND``.",
    ),
    sql(
        "A window's size that is no interval",
        "SELECT COUNT(*)\nFROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), 60))\nGROUP BY window_start, window_end;\n",
        ("script.sql:2:49", "INTERVAL '10' MINUTE"),
        "A number has no unit of time.",
        "Write `INTERVAL '60' SECOND`.",
    ),
    sql(
        "A watermark on a number",
        "CREATE TABLE clicks (ms BIGINT, WATERMARK FOR ms AS ms)\n  WITH ('connector' = 'datagen');\n"
        "SELECT * FROM clicks;\n",
        ("WATERMARK FOR ms", "BIGINT", "TO_TIMESTAMP_LTZ(ms, 3)"),
        "Event time is a TIMESTAMP or TIMESTAMP_LTZ.",
        "Declare a computed column as the message shows, and the watermark for it.",
    ),
    sql(
        "A key that is to be enforced",
        "CREATE TABLE people (id INT PRIMARY KEY) WITH ('connector' = 'print');\n",
        ("script.sql:1:40", "NOT ENFORCED"),
        "The rows are not in a database of Millrace's, so nobody can see to it.",
        "Write `id INT PRIMARY KEY NOT ENFORCED`.",
    ),
    sql(
        "Too few columns for a table",
        "INSERT INTO sink SELECT id FROM orders;\n",
        ("script.sql:1:18", "'sink' takes 2 columns (id, name)", "gives 1"),
        "Columns are filled by position.",
        "Give all of them, or name those that you give: `INSERT INTO sink (id) SELECT ...`.",
    ),
    sql(
        "Columns in another order",
        "INSERT INTO sink SELECT name, id FROM orders;\n",
        ("script.sql:1:18", "column 'id' of 'sink' is BIGINT", "STRING"),
        "Columns are filled by position, not by name.",
        "Bring them into the table's order, or name it: `INSERT INTO sink (name, id) SELECT ...`.",
    ),
    sql(
        "Changes for a table that takes rows only",
        "INSERT INTO files SELECT name, COUNT(*) FROM orders GROUP BY name;\n",
        ("script.sql:1:1", "files takes no updates", "PRIMARY KEY", "window"),
        "A count changes with each row, and a file cannot take a row back.",
        "Count in windows, or write to a table with a key, of a connector that takes changes.",
    ),
    sql(
        "Reading what can only be written",
        "SELECT * FROM sink;\n",
        ("script.sql:1:1", "connector 'print' cannot be read from"),
        "The connector has no source.",
        "Read the table that the rows came from.",
    ),
    sql(
        "Writing what can only be read",
        "INSERT INTO orders SELECT * FROM orders;\n",
        ("script.sql:1:1", "connector 'datagen' cannot be written to"),
        "The connector has no sink.",
        "Write to a table of another connector.",
    ),
    sql(
        "A table that is there already",
        "CREATE TABLE orders (id INT) WITH ('connector' = 'print');\n",
        ("orders", "IF NOT EXISTS"),
        "The session, or the catalog, has a table of this name.",
        "Drop it before, or write `CREATE TABLE IF NOT EXISTS`, which leaves it as it is.",
    ),
    sql(
        "A database that there is not",
        "USE shop;\n",
        ("script.sql:1:1", "no database shop", "only default_database"),
        "The current catalog has no database of this name.",
        "`CREATE DATABASE shop` makes it; `USE CATALOG` chooses the catalog.",
    ),
    sql(
        "A text that is no number",
        "SELECT CAST('abc' AS INT);\n",
        ("script.sql:1:8", "'abc' as INT", "TRY_CAST"),
        "CAST fails for what it cannot convert, for a constant before anything runs.",
        "`TRY_CAST` gives NULL instead.",
    ),
    sql(
        "A statement set within a statement set",
        "BEGIN STATEMENT SET;\nBEGIN STATEMENT SET;\nEND;\n",
        ("script.sql:2:1", "INSERT", "END"),
        "Statement sets hold INSERTs only, which run as one job.",
        "End the first one with `END;`.",
    ),
    sql(
        "A transaction",
        "BEGIN TRANSACTION;\n",
        ("script.sql:1:7", "no transactions", "BEGIN STATEMENT SET"),
        "Statements are jobs and definitions; none of them can be taken back.",
        "`BEGIN STATEMENT SET` runs several INSERTs as one job.",
    ),
    sql(
        "A setting that is misspelt",
        "SET 'table.exec.stat.ttl' = '1 h';\n",
        ("table.exec.stat.ttl", "did you mean 'table.exec.state.ttl'"),
        "The key begins like one of Flink's, and there is none of this name. It has no effect.",
        "Set the key that is proposed.",
        exit_code=0,
    ),
    sql(
        "A setting of another type",
        "SET 'table.exec.state.ttl' = 'soon';\n",
        ("script.sql:1:1", "'soon'", "table.exec.state.ttl", "span of time"),
        "The key is known, and its value is of another type.",
        "Write the value as the message shows.",
    ),
)
