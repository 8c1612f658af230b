"""Mistakes in tables: connectors, formats, options, data, functions."""

from __future__ import annotations

from collections.abc import Mapping

from tests.front_door.mistakes.mistake import Mistake, Way

TITLE = "Tables: connectors, formats, data"


def table(
    title: str,
    options: str,
    says: tuple[str, ...],
    cause: str,
    cure: str,
    files: Mapping[str, str] | None = None,
    missing: tuple[str, ...] = (),
    columns: str = "a INT",
    others_words: bool = False,
) -> Mistake:
    """Somebody reads a table of these options."""
    lines = ",\n".join(f"  {option}" for option in options.split(", "))
    text = f"CREATE TABLE t ({columns}) WITH (\n{lines}\n);\nSELECT * FROM t;\n"
    return Mistake(
        title, Way.SQL, text, says, cause, cure, files=files or {}, missing=missing, others_words=others_words
    )


def sql(title: str, text: str, says: tuple[str, ...], cause: str, cure: str, **files: str) -> Mistake:
    return Mistake(title, Way.SQL, text, says, cause, cure, files={f"{name}.py": text for name, text in files.items()})


def files(format: str, path: str = "rows.csv") -> str:
    return f"'connector' = 'filesystem', 'path' = '{path}', 'format' = '{format}'"


KAFKA = "'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'localhost:1', 'format' = 'json'"

MISTAKES = (
    table(
        "A connector that there is not",
        "'connector' = 'kafak'",
        ("no connector 'kafak'", "did you mean 'kafka'"),
        "No connector of this name is installed; the message lists those that are.",
        "Use the name that is proposed. Jars of Flink's connectors are not used.",
        others_words=True,
    ),
    table(
        "An option that is misspelt",
        "'connector' = 'datagen', 'number-of-row' = '3'",
        ("no option 'number-of-row'", "did you mean 'number-of-rows'"),
        "The connector has no option of this name; the message lists those that it has.",
        "Use the name that is proposed.",
    ),
    table(
        "An option that is missing",
        "'connector' = 'filesystem', 'format' = 'csv'",
        ("connector 'filesystem' needs path",),
        "The connector can't do without it.",
        "Give it: `'path' = '/data/clicks'`.",
    ),
    table(
        "An option of another type",
        "'connector' = 'datagen', 'number-of-rows' = 'ten'",
        ("'number-of-rows' is a whole number, not 'ten'",),
        "The option is known, and its value is of another type.",
        "Write the value as the message says.",
    ),
    table(
        "A format that there is not",
        files("jsn"),
        ("no format 'jsn'", "did you mean 'json'"),
        "No format of this name is installed; the message lists those that are.",
        "Use the name that is proposed.",
    ),
    table(
        "An option of a format that is misspelt",
        files("json") + ", 'json.ignore-parse-error' = 'true'",
        ("'json.ignore-parse-error'", "did you mean 'json.ignore-parse-errors'"),
        "The format has no option of this name; the message lists those that it has.",
        "Use the name that is proposed.",
    ),
    table(
        "Generated values for a column that there is not",
        "'connector' = 'datagen', 'fields.b.min' = '3'",
        ("'fields.b.min' names no column", "the columns are a"),
        "`fields.NAME.min` is about the column NAME.",
        "Name a column of the table.",
    ),
    table(
        "Files that are not there",
        files("csv", "nowhere"),
        ("no file or folder nowhere",),
        "Relative paths count from the folder in which the command was typed.",
        "Look at the path, or give an absolute one.",
    ),
    table(
        "A line of CSV that is no row",
        files("csv"),
        ("rows.csv, line 2", "field 'b': not an integer: 'x'", "1,x", "'ignore-parse-errors'"),
        "The line does not fit the table's columns.",
        "Mend the file, or set `'csv.ignore-parse-errors' = 'true'`: such fields are NULL then, and lines that are no "
        "rows are left out and counted.",
        {"rows.csv": "1,2\n1,x\n"},
        columns="a INT, b INT",
    ),
    table(
        "A CSV file that begins with names",
        files("csv"),
        ("rows.csv, line 1", "'csv.header' = 'true'"),
        "Flink's format has no line of names: it is taken for a row.",
        "Set `'csv.header' = 'true'` (our addition).",
        {"rows.csv": "a,b\n1,2\n"},
        columns="a INT, b INT",
    ),
    table(
        "A record that is no JSON",
        files("json", "rows.json"),
        ("rows.json, line 2", '{"a":', "'ignore-parse-errors'"),
        "The line is not JSON; often the end of a file that was cut off.",
        "Mend the file, or set `'json.ignore-parse-errors' = 'true'`.",
        {"rows.json": '{"a": 1}\n{"a":\n'},
        others_words=True,
    ),
    table(
        "A file of another format",
        files("parquet", "rows.parquet"),
        ("rows.parquet: not a Parquet file",),
        "The file has another format than the table says, or was cut off.",
        "Look at `'format'`, and at what else lies in the folder.",
        {"rows.parquet": "hello"},
        others_words=True,
    ),
    table(
        "A package that is not installed",
        f"{KAFKA}, 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'",
        ("confluent-kafka", "pip install 'millrace-streaming[kafka]'"),
        "Clients of other systems are extras of the installation.",
        "Run the command that the message shows.",
        missing=("confluent_kafka",),
    ),
    table(
        "A table of changes without a key",
        "'connector' = 'upsert-kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'localhost:1', "
        "'key.format' = 'json', 'value.format' = 'json'",
        ("'upsert-kafka' needs a PRIMARY KEY",),
        "The connector finds rows by their key.",
        "Declare it: `PRIMARY KEY (a) NOT ENFORCED`.",
    ),
    table(
        "A table that the database does not have",
        "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:shop.db', 'table-name' = 'ordres'",
        ("SQLite at shop.db", "no such table: ordres"),
        "The database has no table of this name, or another file was opened: SQLite makes one that is not there.",
        "Look at `'table-name'` and `'url'`.",
    ),
    sql(
        "A jar",
        "ADD JAR 'flink-sql-connector-kafka.jar';\n",
        ("script.sql:1:1", "Python", "pip"),
        "Connectors, formats and functions are Python here, and no JVM of Flink's could load the jar.",
        "Install the extra of the connector: `pip install 'millrace-streaming[kafka]'`.",
    ),
    sql(
        "A function of Java's",
        "CREATE FUNCTION f AS 'com.example.F';\nSELECT f(1);\n",
        ("com.example.F", "LANGUAGE PYTHON"),
        "Without `LANGUAGE PYTHON` the name is that of a class in a jar.",
        "Write the function in Python.",
    ),
    sql(
        "A module of functions that is not found",
        "CREATE FUNCTION f AS 'mathematics.double' LANGUAGE PYTHON;\nSELECT f(1);\n",
        ("mathematics.double", "-pyfs"),
        "Python looks where the command was typed, and in what `-pyfs` names.",
        "Give the file: `millrace sql -pyfs mathematics.py`.",
    ),
    sql(
        "A function that a module does not have",
        "CREATE FUNCTION f AS 'arithmetic.dubble' LANGUAGE PYTHON;\nSELECT f(1);\n",
        ("dubble", "did you mean 'double'"),
        "The module is there, and has no such function.",
        "Use the name that is proposed.",
        arithmetic="from millrace.table.udf import udf\n\ndouble = udf(lambda x: 2 * x, result_type='INT')\n",
    ),
)
