"""CREATE, DROP."""

from __future__ import annotations

from .entry import Entry

TITLE = "CREATE and DROP"
ENTRIES = (
    Entry(
        "CREATE TABLE",
        """
CREATE [TEMPORARY] TABLE [IF NOT EXISTS] [catalog.][database.]table [(
    column type [NOT NULL] [PRIMARY KEY NOT ENFORCED] [COMMENT 'text'],
    column type METADATA [FROM 'key'] [VIRTUAL],
    column AS expression,
    WATERMARK FOR column AS expression,
    [CONSTRAINT name] PRIMARY KEY (column, ..) NOT ENFORCED,
    ..
)]
[COMMENT 'text']
[DISTRIBUTED [BY [HASH | RANGE] (column, ..)] [INTO n BUCKETS]]
[PARTITIONED BY (column, ..)]
WITH ('option' = 'value', ..)
[LIKE table [({INCLUDING | EXCLUDING | OVERWRITING} {ALL | CONSTRAINTS | DISTRIBUTION | GENERATED | METADATA
              | OPTIONS | PARTITIONS | WATERMARKS} ..)]]""",
        "Names a table of the outside: its columns and the [connector](connectors.md) that reads and writes it. Nothing is "
        "created there. METADATA columns are what the connector knows beside the row; a column AS an expression is computed "
        "when the table is read; WATERMARK makes a column the event time. Columns may be left out where the connector can find "
        "them out (`filesystem`). LIKE takes over another table's parts.",
        """
CREATE TABLE numbers (
    n INT,
    doubled AS n * 2
) WITH (
    'connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3'
);
SELECT * FROM numbers;""",
    ),
    Entry(
        "CREATE TABLE .. AS",
        """
CREATE [OR REPLACE] TABLE [IF NOT EXISTS] table [(column, ..)] [COMMENT ..] [PARTITIONED BY (..)] WITH (..)
AS query
REPLACE TABLE table [(column, ..)] WITH (..) AS query""",
        "A table with the columns of a query, and the query's rows written into it. The brackets may name the columns in "
        "another order, or declare more of them.",
        """
CREATE TABLE large WITH ('connector' = 'filesystem', 'path' = 'large', 'format' = 'json')
AS SELECT name, amount FROM orders WHERE amount > 2;
SELECT * FROM large;""",
    ),
    Entry(
        "CREATE VIEW",
        "CREATE [TEMPORARY] VIEW [IF NOT EXISTS] view [(column [COMMENT 'text'], ..)] [COMMENT 'text'] AS query",
        "A name for a query, which runs wherever the view is used.",
        """
CREATE VIEW per_name (who, total) AS SELECT name, SUM(amount) FROM orders GROUP BY name;
SELECT * FROM per_name;""",
    ),
    Entry(
        "CREATE FUNCTION",
        """
CREATE [TEMPORARY | TEMPORARY SYSTEM] FUNCTION [IF NOT EXISTS] function AS 'module.name' LANGUAGE PYTHON
[USING {JAR | FILE | ARCHIVE | ARTIFACT} 'path', ..]""",
        "A function written in Python, by the module and the name of what `udf()`, `udtf()`, `udaf()` or `udtaf()` made. A "
        "SYSTEM function is found from every catalog. Functions in JAVA and SCALA are refused when they are called.",
        """
CREATE TEMPORARY FUNCTION halves AS 'halves.half' LANGUAGE PYTHON;
SELECT amount, halves(amount) AS half FROM orders WHERE name = 'Ann';""",
    ),
    Entry(
        "CREATE DATABASE",
        "CREATE DATABASE [IF NOT EXISTS] [catalog.]database [COMMENT 'text'] [WITH ('key' = 'value', ..)]",
        "A database in a catalog.",
        "CREATE DATABASE shop COMMENT 'of examples';\nSHOW DATABASES;",
    ),
    Entry(
        "CREATE CATALOG",
        "CREATE CATALOG [IF NOT EXISTS] catalog [COMMENT 'text'] WITH ('type' = '..', ..)",
        "A catalog: `generic_in_memory`, `jdbc` (the tables of a database, [databases](../guide/databases.md)), or one of your "
        "own.",
        "CREATE CATALOG mine WITH ('type' = 'generic_in_memory');\nSHOW CATALOGS;",
    ),
    Entry(
        "CREATE MODEL",
        """
CREATE [TEMPORARY] MODEL [IF NOT EXISTS] model [INPUT (column type, ..)] [OUTPUT (column type, ..)] [COMMENT 'text']
WITH ('provider' = '..', ..)""",
        "A model is kept in the catalog and shown; no query calls one.",
        """
CREATE MODEL sentiment INPUT (review STRING) OUTPUT (mood STRING) WITH ('provider' = 'openai');
DESCRIBE MODEL sentiment;""",
    ),
    Entry(
        "DROP",
        """
DROP [TEMPORARY] {TABLE | VIEW | MODEL} [IF EXISTS] name
DROP [TEMPORARY | TEMPORARY SYSTEM] FUNCTION [IF EXISTS] name
DROP {DATABASE | CATALOG} [IF EXISTS] name [RESTRICT | CASCADE]""",
        "The name goes; the rows of a table stay where they are. A database with tables goes only with CASCADE.",
        "CREATE VIEW few AS SELECT * FROM orders WHERE amount < 2;\nDROP VIEW few;\nSHOW VIEWS;",
    ),
)
