"""Statements that show something."""

from __future__ import annotations

from .entry import Entry

TITLE = "SHOW, DESCRIBE, EXPLAIN"
_RUNNING = "it needs a job that is running: [the SQL client](../guide/sql-client.md)"
ENTRIES = (
    Entry(
        "SHOW TABLES and other names",
        """
SHOW {CATALOGS | MODULES | FULL MODULES | JARS | JOBS}
SHOW {CURRENT CATALOG | CURRENT DATABASE}
SHOW {DATABASES | TABLES | VIEWS | FUNCTIONS | USER FUNCTIONS | PROCEDURES | MODELS}
     [{FROM | IN} place] [[NOT] {LIKE | ILIKE} 'pattern']""",
        "Names, in order. The pattern is that of LIKE; ILIKE does not mind case.",
        "SHOW TABLES LIKE 'o%';",
    ),
    Entry(
        "SHOW COLUMNS",
        "SHOW COLUMNS {FROM | IN} table [[NOT] {LIKE | ILIKE} 'pattern']",
        "Columns with their types.",
        "SHOW COLUMNS FROM orders LIKE '%a%';",
    ),
    Entry(
        "SHOW PARTITIONS",
        "SHOW PARTITIONS table [PARTITION (column = value, ..)]",
        "The partitions that the catalog knows.",
        "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)\n"
        "WITH ('connector' = 'filesystem', 'path' = 'parts', 'format' = 'csv');\n"
        "ALTER TABLE t ADD PARTITION (p = 'x');\nSHOW PARTITIONS t;",
    ),
    Entry(
        "SHOW CREATE",
        "SHOW CREATE {TABLE | VIEW | MODEL | CATALOG} name",
        "The statement that would create it.",
        "CREATE VIEW v AS SELECT name FROM orders;\nSHOW CREATE VIEW v;",
    ),
    Entry(
        "DESCRIBE",
        """
{DESCRIBE | DESC} [EXTENDED] table
{DESCRIBE | DESC} {CATALOG | DATABASE | FUNCTION | MODEL} [EXTENDED] name
{DESCRIBE | DESC} query""",
        "Columns with types and what else is known of them; of a query, those of its result.",
        "DESCRIBE orders;\nDESCRIBE SELECT name, COUNT(*) AS n FROM orders GROUP BY name;",
    ),
    Entry(
        "SUMMARIZE",
        "SUMMARIZE {table | 'path' | query}",
        "Figures of each column: rows, NULLs, different values, the least, the greatest, the mean. All rows are read.",
        "SUMMARIZE SELECT product, amount FROM orders;",
    ),
    Entry(
        "EXPLAIN",
        """
EXPLAIN [PLAN FOR | {ESTIMATED_COST | CHANGELOG_MODE | JSON_EXECUTION_PLAN | PLAN_ADVICE}, ..]
{query | INSERT .. | STATEMENT SET .. | CREATE TABLE .. AS ..}""",
        "The plan of what would run.",
        "EXPLAIN SELECT name FROM orders WHERE amount > 2;",
    ),
    Entry("DESCRIBE JOB", "{DESCRIBE | DESC} JOB 'id'", "A job's name, status and start.", "DESCRIBE JOB '91515835673d47629680dd2cff3e0c38';", _RUNNING),
    Entry(
        "STOP JOB",
        "STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]",
        "Cancels a job. WITH SAVEPOINT saves its state before; WITH DRAIN lets windows and timers fire as at the end.",
        "STOP JOB '91515835673d47629680dd2cff3e0c38' WITH SAVEPOINT;",
        _RUNNING,
    ),
    Entry(
        "ANALYZE TABLE",
        """
ANALYZE TABLE table [PARTITION (column [= value], ..)] COMPUTE STATISTICS
[FOR {ALL COLUMNS | COLUMNS column, ..}]""",
        "Counts rows, and the values of columns, for the optimizer; in batch mode. An INSERT forgets the figures.",
        "ANALYZE TABLE orders COMPUTE STATISTICS FOR COLUMNS amount;",
        elsewhere="it runs in batch mode only, on Spark",
    ),
)  # fmt: skip
