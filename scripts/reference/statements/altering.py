"""ALTER."""

from __future__ import annotations

from .entry import Entry

TITLE = "ALTER"
_TABLE = "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'print', 'print-identifier' = 'x');\n"
_PARTITIONED = (
    "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)\n"
    "WITH ('connector' = 'filesystem', 'path' = 'partitioned', 'format' = 'csv');\n"
)
ENTRIES = (
    Entry(
        "ALTER TABLE .. ADD, MODIFY",
        """
ALTER TABLE [IF EXISTS] table {ADD | MODIFY} element
ALTER TABLE [IF EXISTS] table {ADD | MODIFY} (element, ..)

element:
    column type [FIRST | AFTER column], or what else CREATE TABLE has between its brackets
    DISTRIBUTION [BY [HASH | RANGE] (column, ..)] [INTO n BUCKETS]""",
        "Adds to what the catalog says of the table, or changes it; the rows stay as they are.",
        _TABLE + "ALTER TABLE t ADD (c DOUBLE AFTER a, d AS a + 1);\nALTER TABLE t MODIFY a BIGINT;\nDESCRIBE t;",
    ),
    Entry(
        "ALTER TABLE .. DROP",
        """
ALTER TABLE table DROP {column | (column, ..)}
ALTER TABLE table DROP {PRIMARY KEY | CONSTRAINT name | WATERMARK | DISTRIBUTION}""",
        "Without a column, key, watermark or distribution. What something else needs is not dropped.",
        "ALTER TABLE orders DROP WATERMARK;\nALTER TABLE orders DROP (amount, sold);\nDESCRIBE orders;",
    ),
    Entry(
        "ALTER TABLE .. RENAME",
        "ALTER TABLE table RENAME TO name\nALTER TABLE table RENAME column TO name",
        "Another name for the table or for a column.",
        _TABLE + "ALTER TABLE t RENAME b TO text;\nALTER TABLE t RENAME TO u;\nDESCRIBE u;",
    ),
    Entry(
        "ALTER TABLE .. SET, RESET",
        "ALTER TABLE table SET ('option' = 'value', ..)\nALTER TABLE table RESET ('option', ..)",
        "Other options for the connector, or the default again.",
        _TABLE
        + "ALTER TABLE t SET ('print-identifier' = 'y', 'standard-error' = 'true');\n"
        + "ALTER TABLE t RESET ('standard-error');\nSHOW CREATE TABLE t;",
    ),
    Entry(
        "ALTER TABLE .. ADD PARTITION, DROP PARTITION",
        """
ALTER TABLE table ADD [IF NOT EXISTS] PARTITION (column = value, ..) [WITH ('key' = 'value', ..)] ..
ALTER TABLE table DROP [IF EXISTS] PARTITION (column = value, ..), ..""",
        "What the catalog knows of the parts of a partitioned table.",
        _PARTITIONED
        + "ALTER TABLE t ADD PARTITION (p = 'x') PARTITION (p = 'y');\n"
        + "ALTER TABLE t DROP PARTITION (p = 'x');\nSHOW PARTITIONS t;",
    ),
    Entry(
        "ALTER VIEW",
        "ALTER VIEW view RENAME TO name\nALTER VIEW view AS query",
        "Another name, or another query.",
        "CREATE VIEW v AS SELECT name FROM orders;\nALTER VIEW v AS SELECT product FROM orders;\nDESCRIBE v;",
    ),
    Entry(
        "ALTER FUNCTION",
        "ALTER [TEMPORARY | TEMPORARY SYSTEM] FUNCTION [IF EXISTS] function AS 'module.name' [LANGUAGE PYTHON]",
        "Another function under the same name, in a catalog; a temporary one is dropped and created anew.",
        "CREATE FUNCTION f AS 'halves.half' LANGUAGE PYTHON;\n"
        "ALTER FUNCTION f AS 'halves.double' LANGUAGE PYTHON;\nSELECT f(4) AS twice;",
    ),
    Entry(
        "ALTER DATABASE",
        "ALTER DATABASE database SET ('key' = 'value', ..)\nALTER DATABASE database RESET ('key', ..)",
        "What the catalog says of the database.",
        "ALTER DATABASE default_database SET ('owner' = 'Ann');\nDESCRIBE DATABASE EXTENDED default_database;",
    ),
    Entry(
        "ALTER CATALOG",
        """
ALTER CATALOG catalog SET ('key' = 'value', ..)
ALTER CATALOG catalog RESET ('key', ..)
ALTER CATALOG catalog COMMENT 'text'""",
        "Other options, or a comment. `type` stays.",
        "CREATE CATALOG mine WITH ('type' = 'generic_in_memory');\n"
        "ALTER CATALOG mine COMMENT 'of examples';\nSHOW CREATE CATALOG mine;",
    ),
    Entry(
        "ALTER MODEL",
        """
ALTER MODEL [IF EXISTS] model SET ('key' = 'value', ..)
ALTER MODEL [IF EXISTS] model RESET ('key', ..)
ALTER MODEL [IF EXISTS] model RENAME TO name""",
        "Other options or another name.",
        "CREATE MODEL m INPUT (review STRING) OUTPUT (mood STRING) WITH ('provider' = 'openai');\n"
        "ALTER MODEL m RENAME TO sentiment;\nSHOW MODELS;",
    ),
)
