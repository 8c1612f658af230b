"""Statements about the session."""

from __future__ import annotations

from .entry import Entry

TITLE = "The session"
ENTRIES = (
    Entry(
        "USE",
        "USE [catalog.]database\nUSE CATALOG catalog\nUSE MODULES module, ..",
        "Where names are looked for that don't say it; which modules are used, and in which order.",
        "CREATE DATABASE shop;\nUSE shop;\nSHOW CURRENT DATABASE;\n"
        "USE CATALOG default_catalog;\nUSE MODULES core;\nSHOW CURRENT CATALOG;",
    ),
    Entry(
        "SET",
        "SET\nSET 'key' = 'value'",
        "A [key of the configuration](../configuration.md) for what follows; without a key: those that are set.",
        "SET 'table.local-time-zone' = 'Asia/Shanghai';\nSELECT CAST(TO_TIMESTAMP_LTZ(0, 0) AS STRING) AS epoch;",
    ),
    Entry(
        "RESET",
        "RESET\nRESET 'key'",
        "A key, or all of them, as at the start.",
        "SET 'table.local-time-zone' = 'Asia/Shanghai';\nRESET 'table.local-time-zone';\n"
        "SELECT CAST(TO_TIMESTAMP_LTZ(0, 0) AS STRING) AS epoch;",
    ),
    Entry(
        "LOAD MODULE, UNLOAD MODULE",
        "LOAD MODULE module [WITH ('key' = 'value', ..)]\nUNLOAD MODULE module",
        "Modules are sets of functions; `core` is there from the start.",
        "UNLOAD MODULE core;\nSHOW MODULES;\nLOAD MODULE core;\nSHOW MODULES;",
    ),
    Entry(
        "ADD JAR, REMOVE JAR",
        "ADD JAR 'path'\nREMOVE JAR 'path'",
        "Accepted for scripts of Flink: connectors are Python here, so a jar changes nothing but what SHOW JARS lists. Drivers "
        "of `jdbc` tables in batch mode are loaded from such jars.",
        "ADD JAR '/opt/drivers/h2.jar';",
        elsewhere="there has to be a jar",
    ),
    Entry(
        "COMPILE PLAN",
        "COMPILE [AND EXECUTE] PLAN 'file' [IF NOT EXISTS] FOR {INSERT .. | STATEMENT SET ..}",
        "Writes the plan of a job into a file, so that a later version runs it with the same state.",
        "CREATE TABLE shown (name STRING) WITH ('connector' = 'print');\n"
        "COMPILE PLAN 'plan.json' FOR INSERT INTO shown SELECT name FROM orders WHERE amount > 3;\n"
        "EXECUTE PLAN 'plan.json';",
    ),
    Entry(
        "EXECUTE PLAN",
        "EXECUTE PLAN 'file'",
        "Runs a compiled plan. The tables that it names have to be there.",
        "CREATE TABLE shown (name STRING) WITH ('connector' = 'print');\n"
        "COMPILE AND EXECUTE PLAN 'names.json' FOR INSERT INTO shown SELECT name FROM orders WHERE amount > 3;",
    ),
    Entry(
        "HELP, CLEAR, QUIT",
        "HELP\nCLEAR\n{QUIT | EXIT}",
        "Of the [SQL client](../guide/sql-client.md) alone: what there is, an empty screen, the end.",
        "HELP;",
        elsewhere="they are the SQL client's",
    ),
)
