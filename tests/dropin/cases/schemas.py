"""pyflink.table: the schemas of tables that are only read, and of streams; descriptors."""

from __future__ import annotations

from pyflink.common import ConfigOptions, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, FormatDescriptor, Schema, StreamTableEnvironment, Table, TableDescriptor
from pyflink.table.expressions import col
from tests.dropin.checks import raises


def _environment() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env, StreamTableEnvironment.create(env)


def _lines(table: Table) -> list[str]:
    """Of the schema's text, which is also what ``print_schema`` prints: what stands between the brackets."""
    lines = str(table.get_resolved_schema()).splitlines()
    assert (lines[0], lines[-1]) == ("(", ")")
    return [line.strip().rstrip(",") for line in lines[1:-1]]


def a_table_by_its_name_has_all_that_was_declared() -> None:
    """Comments, expressions with their columns in backticks, watermark and key; a query over it has none of these."""
    _, t_env = _environment()
    t_env.execute_sql(
        "CREATE TABLE t (id INT NOT NULL COMMENT 'q', name STRING, ts TIMESTAMP(3), c AS UPPER(name) || 'x' COMMENT "
        "'upper', d AS CASE WHEN id > 3 THEN 1 ELSE 2 END, p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' "
        "SECOND, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen')"
    )
    assert _lines(t_env.from_path("t")) == [
        "`id` INT NOT NULL COMMENT 'q'",
        "`name` STRING",
        "`ts` TIMESTAMP(3) *ROWTIME*",
        "`c` STRING AS UPPER(`name`) || 'x' COMMENT 'upper'",
        "`d` INT NOT NULL AS CASE WHEN `id` > 3 THEN 1 ELSE 2 END",
        "`p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME()",
        "WATERMARK FOR `ts`: TIMESTAMP(3) AS `ts` - INTERVAL '5' SECOND",
        "CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
    ]
    assert _lines(t_env.sql_query("SELECT id, ts, p FROM t")) == [
        "`id` INT NOT NULL",
        "`ts` TIMESTAMP(3) *ROWTIME*",
        "`p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
    ]
    rows = [tuple(row) for row in t_env.execute_sql("DESCRIBE t").collect()]
    assert rows[2][5] == "`ts` - INTERVAL '5' SECOND" and rows[3][4] == "AS UPPER(`name`) || 'x'"


def metadata_columns_are_shown() -> None:
    _, t_env = _environment()
    t_env.execute_sql(
        "CREATE TABLE t (id INT, f STRING NOT NULL METADATA FROM 'file.path' VIRTUAL COMMENT 'where') "
        "WITH ('connector' = 'filesystem', 'path' = '/tmp/nowhere', 'format' = 'json')"
    )
    assert _lines(t_env.from_path("t")) == [
        "`id` INT",
        "`f` STRING NOT NULL METADATA FROM 'file.path' VIRTUAL COMMENT 'where'",
    ]


def a_descriptor_keeps_expressions_as_they_were_written() -> None:
    _, t_env = _environment()
    schema = (
        Schema.new_builder()
        .column("a", DataTypes.INT())
        .column_by_expression("b", "a + 1")
        .column_by_expression("c", col("a") + 1)
        .column("ts", "TIMESTAMP(3)")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    table = t_env.from_descriptor(TableDescriptor.for_connector("datagen").schema(schema).build())
    assert _lines(table) == [
        "`a` INT",
        "`b` INT AS a + 1",
        "`c` INT AS plus(a, 1)",
        "`ts` TIMESTAMP(3) *ROWTIME*",
        "WATERMARK FOR `ts`: TIMESTAMP(3) AS ts - INTERVAL '1' SECOND",
    ]


def a_stream_with_a_schema_keeps_it_also_as_a_view() -> None:
    env, t_env = _environment()
    stream = env.from_collection([(1, 42)], Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.INT()]))
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("v", stream, schema)
    for table in (t_env.from_data_stream(stream, schema), t_env.from_path("v")):
        assert _lines(table) == [
            "`a` BIGINT",
            "`b` INT",
            "`rowtime` TIMESTAMP_LTZ(3) *ROWTIME* METADATA",
            "WATERMARK FOR `rowtime`: TIMESTAMP_LTZ(3) AS SOURCE_WATERMARK()",
        ]


def numbers_outside_of_rows_are_not_null() -> None:
    """Of streams of numbers and of tuples, and inside of arrays and maps; columns that are picked are nullable."""
    env, t_env = _environment()
    assert _lines(t_env.from_data_stream(env.from_collection([1], Types.INT()))) == ["`f0` INT NOT NULL"]
    pairs = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert _lines(t_env.from_data_stream(pairs)) == ["`f0` INT NOT NULL", "`f1` STRING"]
    assert _lines(t_env.from_data_stream(pairs, col("a"), col("b"))) == ["`a` INT", "`b` STRING"]
    kinds = [Types.LONG(), Types.PRIMITIVE_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.INT())]
    rows = env.from_collection([(1, [1], [1], {1: "a"})], Types.ROW([*kinds, Types.MAP(Types.INT(), Types.STRING())]))
    assert _lines(t_env.from_data_stream(rows)) == [
        "`f0` BIGINT",
        "`f1` ARRAY<INT NOT NULL>",
        "`f2` ARRAY<INT>",
        "`f3` MAP<INT NOT NULL, STRING>",
    ]


def views_of_tables_are_tables_that_are_only_read() -> None:
    """A view of a Table has its key; one of SQL has columns alone."""
    _, t_env = _environment()
    t_env.execute_sql("CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen')")
    t_env.create_temporary_view("v", t_env.from_path("t"))
    assert _lines(t_env.from_path("v")) == [
        "`id` INT NOT NULL",
        "CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
    ]
    t_env.execute_sql("CREATE VIEW w AS SELECT * FROM t")
    assert _lines(t_env.from_path("w")) == ["`id` INT NOT NULL"]


def the_option_of_a_format_ends_with_format() -> None:
    key = ConfigOptions.key("foo").string_type().no_default_value()
    with raises(Exception, "Format identifier key should be 'format' or suffix with '.format'"):
        TableDescriptor.for_connector("c").format(FormatDescriptor.for_format("json").build(), key)
