"""Mistakes in tables: connectors, formats, options, data."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import sql

TITLE = "Tables: connectors, formats, data"


def t(title, text, says=(), **more):
    return sql(title, text, says, "", "", **more)


MISTAKES = (
    t("A connector that there is not", "CREATE TABLE t (a INT) WITH ('connector' = 'kafak');\nSELECT * FROM t;\n", ("'kafka'",)),
    t("connector maven", "CREATE TABLE t (a INT) WITH ('connector' = 'hudi');\nSELECT * FROM t;\n", ("hudi",)),
    t("no connector", "CREATE TABLE t (a INT);\nSELECT * FROM t;\n", ("connector",)),
    t("An option that is misspelt", "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-row' = '3');\nSELECT * FROM t;\n", ("'number-of-rows'",)),
    t("An option that is missing", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv');\nSELECT * FROM t;\n", ("'path'",)),
    t("A value of the wrong type", "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = 'ten');\nSELECT * FROM t;\n", ("'ten'", "number-of-rows")),
    t("A format that there is not", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'jsn');\nSELECT * FROM t;\n", ("'json'",)),
    t("A format option that is misspelt", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'json', 'json.ignore-parse-error' = 'true');\nSELECT * FROM t;\n", ("'json.ignore-parse-errors'",)),
    t("opt without format", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'json', 'csv.ignore-parse-errors' = 'true');\nSELECT * FROM t;\n", ("csv.ignore-parse-errors",)),
    t("datagen field option", "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'fields.b.min' = '3');\nSELECT * FROM t;\n", ("fields.b",)),
    t("Files that are not there", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'nowhere', 'format' = 'csv');\nSELECT * FROM t;\n", ("nowhere",)),
    t("A line of CSV that is no row", "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = 'rows.csv', 'format' = 'csv');\nSELECT * FROM t;\n", ("csv.ignore-parse-errors", "rows.csv", "1,x"), files={"rows.csv": "1,2\n1,x\n"}),
    t("too many fields", "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = 'rows.csv', 'format' = 'csv');\nSELECT * FROM t;\n", ("csv.ignore-parse-errors", "rows.csv", "1,2,3"), files={"rows.csv": "1,2\n1,2,3\n"}),
    t("header", "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'filesystem', 'path' = 'rows.csv', 'format' = 'csv');\nSELECT * FROM t;\n", ("rows.csv", "csv.header"), files={"rows.csv": "a,b\n1,2\n"}),
    t("A record that is no JSON", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'rows.json', 'format' = 'json');\nSELECT * FROM t;\n", ("json.ignore-parse-errors", "rows.json"), files={"rows.json": '{"a": 1}\n{"a": \n'}),
    t("json wrong type", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'rows.json', 'format' = 'json');\nSELECT * FROM t;\n", ("json.ignore-parse-errors", "rows.json", "a"), files={"rows.json": '{"a": 1}\n{"a": "x"}\n'}),
    t("not parquet", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'rows.parquet', 'format' = 'parquet');\nSELECT * FROM t;\n", ("rows.parquet",), files={"rows.parquet": "hello"}),
    t("A package that is not installed", "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');\nSELECT * FROM t;\n", ("pip install 'millrace-streaming[kafka]'",), missing=("confluent_kafka",)),
    t("Kafka that does not answer", "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');\nSELECT * FROM t;\n", ("localhost:1",)),
    t("A database that does not answer", "CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://localhost:1/shop', 'table-name' = 't', 'username' = 'ann', 'password' = 'secret');\nSELECT * FROM t;\n", ("localhost",)),
    t("jdbc no table", "CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:shop.db', 'table-name' = 'nothing');\nSELECT * FROM t;\n", ("nothing",)),
    t("upsert-kafka w/o key", "CREATE TABLE t (a INT) WITH ('connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', 'key.format' = 'json', 'value.format' = 'json');\nSELECT * FROM t;\n", ("PRIMARY KEY",)),
    t("A jar", "ADD JAR 'flink-sql-connector-kafka.jar';\n", ("pip install",)),
    t("java function", "CREATE FUNCTION f AS 'com.example.Fun';\nSELECT f(1);\n", ("PYTHON",)),
    t("python function missing", "CREATE FUNCTION f AS 'funs.double' LANGUAGE PYTHON;\nSELECT f(1);\n", ("funs",)),
    t("python function typo", "CREATE FUNCTION f AS 'funs.dubble' LANGUAGE PYTHON;\nSELECT f(1);\n", ("funs", "'double'"), files={"funs.py": "from millrace.table.udf import udf\n@udf(result_type='INT')\ndef double(x):\n    return 2 * x\n"}),
    t("python function none udf", "CREATE FUNCTION f AS 'funs.double' LANGUAGE PYTHON;\nSELECT f(1);\n", ("funs", "@udf"), files={"funs.py": "def double(x):\n    return 2 * x\n"}),
    t("hint typo", "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3');\nSELECT * FROM t /*+ OPTIONS('number-of-row' = '3') */;\n", ("'number-of-rows'",)),
    t("option with secret", "CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:shop.db', 'table-nam' = 'x', 'password' = 'geheim');\nSELECT * FROM t;\n", ("'table-name'",)),
)
