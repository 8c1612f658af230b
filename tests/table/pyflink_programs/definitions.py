"""DDL, catalogs, views, results of statements."""

from __future__ import annotations

from pyflink.table import DataTypes, ResultKind, Schema, TableDescriptor
from pyflink.table.expressions import col
from tests.table.pyflink_programs.expected import prints, streaming


@prints("""
    ['orders', 'sink']
    ['cheap']
    ['default_catalog']
    ['default_database']
    True
    []
    """)
def catalogs_and_views() -> None:
    t_env = streaming()
    t_env.execute_sql("CREATE TABLE orders (id INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE sink (id INT) WITH ('connector' = 'blackhole')")
    print(sorted(t_env.list_tables()))
    t_env.create_temporary_view("cheap", t_env.from_path("orders").where(col("id") < 3))
    print(t_env.list_views())
    print(t_env.list_catalogs())
    print(t_env.list_databases())
    print(t_env.drop_temporary_view("cheap"))
    print(t_env.list_views())


@prints("""
    OK
    +------------+
    | table name |
    +------------+
    |          t |
    +------------+
    1 row in set
    +------+--------+-------+---------+--------+-----------+
    | name |   type |  null |     key | extras | watermark |
    +------+--------+-------+---------+--------+-----------+
    |   id |    INT | FALSE | PRI(id) |        |           |
    | name | STRING |  TRUE |         |        |           |
    +------+--------+-------+---------+--------+-----------+
    2 rows in set
    """)
def statements_have_results() -> None:
    t_env = streaming()
    t_env.execute_sql(
        "CREATE TABLE t (id INT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print')"
    ).print()
    t_env.execute_sql("SHOW TABLES").print()
    t_env.execute_sql("DESCRIBE t").print()


@prints("""
    SUCCESS
    SUCCESS_WITH_CONTENT
    [('t', False)]
    """)
def kinds_of_results() -> None:
    t_env = streaming()
    made = t_env.execute_sql("CREATE TABLE t (id INT) WITH ('connector' = 'datagen')")
    print("SUCCESS" if made.get_result_kind() == ResultKind.SUCCESS else "?")
    shown = t_env.execute_sql("SHOW TABLES")
    print("SUCCESS_WITH_CONTENT" if shown.get_result_kind() == ResultKind.SUCCESS_WITH_CONTENT else "?")
    with shown.collect() as rows:
        print([(row[0], len(row) > 1) for row in rows])


@prints("""
    ['a', 'b', 'c']
    [BigIntType(true), VarCharType(2147483647, true), DecimalType(10, 2, true)]
    """)
def schemas() -> None:
    t_env = streaming()
    t_env.create_temporary_table(
        "t",
        TableDescriptor.for_connector("datagen")
        .schema(
            Schema.new_builder()
            .column("a", DataTypes.BIGINT())
            .column("b", "STRING")
            .column("c", DataTypes.DECIMAL(10, 2))
            .build()
        )
        .build(),
    )
    schema = t_env.from_path("t").get_schema()
    print(schema.get_field_names())
    print(schema.get_field_data_types())


@prints("""
    +I[1, 10]
    +I[2, 20]
    +I[3, 30]
    """)
def sequence_of_datagen() -> None:
    t_env = streaming()
    t_env.execute_sql(
        "CREATE TABLE source (id INT, data AS id * 10) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', "
        "'fields.id.start' = '1', 'fields.id.end' = '3')"
    )
    t_env.execute_sql("CREATE TABLE sink (id INT, data INT) WITH ('connector' = 'print')")
    t_env.execute_sql("INSERT INTO sink SELECT * FROM source").wait()


@prints("""
    a> +I[1]
    a> +I[2]
    b> +I[2]
    """)
def statement_set() -> None:
    t_env = streaming()
    for name in ("a", "b"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (id BIGINT) WITH ('connector' = 'print', 'print-identifier' = '{name}')"
        )
    table = t_env.from_elements([(1,), (2,)], ["id"])
    statements = t_env.create_statement_set()
    statements.add_insert("a", table)
    statements.add_insert_sql(f"INSERT INTO b SELECT id FROM {table} WHERE id > 1")
    statements.execute().wait()


@prints("""
    == Abstract Syntax Tree ==
    == Optimized Physical Plan ==
    == Optimized Execution Plan ==
    """)
def explained() -> None:
    t_env = streaming()
    table = t_env.from_elements([(1, "hi")], ["id", "word"]).where(col("word").like("h%"))
    titles = [line for line in table.explain().splitlines() if line.startswith("==")]
    print("\n".join(titles[:3]))


@prints("""
    +----+----------------------+
    | op |                    n |
    +----+----------------------+
    | +I |                    2 |
    +----+----------------------+
    1 row in set
    (
      `n` BIGINT
    )
    """)
def sql_on_a_table_by_its_text() -> None:
    t_env = streaming()
    table = t_env.from_elements([(1,), (2,)], ["n"])
    result = t_env.sql_query(f"SELECT n FROM {table} WHERE n > 1")
    result.execute().print()
    result.print_schema()


@prints("""
    1 {'k': 1} [1, 2] None 2.50 2024-05-06 2024-05-06 10:00:00 True b'ab'
    """)
def python_values_of_all_types() -> None:
    t_env = streaming()
    table = t_env.sql_query(
        "SELECT CAST(1 AS TINYINT), MAP['k', 1], ARRAY[1, 2], CAST(NULL AS STRING), CAST('2.50' AS DECIMAL(5, 2)), "
        "DATE '2024-05-06', TIMESTAMP '2024-05-06 10:00:00', TRUE, CAST('ab' AS BYTES)"
    )
    with table.execute().collect() as rows:
        for row in rows:
            *plain, last = row
            print(*plain, bytes(last))
