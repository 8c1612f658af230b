"""The program of ``benchmarks.jdbc``: SQL that PyFlink and Millrace both run.

    python benchmarks/jdbc_program.py MODE JDBC-URL ROWS KEYS [JARS]

Prints how long the statement took, in seconds.
"""

import sys
import time

from pyflink.table import EnvironmentSettings, TableEnvironment

COLUMNS = "id BIGINT, name STRING, price DOUBLE"
KEYED = f"{COLUMNS}, PRIMARY KEY (id) NOT ENFORCED"


def main() -> None:
    mode, url, rows, keys, *more = sys.argv[1:]
    settings = EnvironmentSettings.in_batch_mode() if mode == "scan" else EnvironmentSettings.in_streaming_mode()
    tables = TableEnvironment.create(settings)
    config = tables.get_config()
    config.set("parallelism.default", "2")
    config.set("execution.checkpointing.interval", "1 s")
    # The last one written wins on both sides; Flink 2.3 would ask for a clause in the statement.
    config.set("table.exec.sink.require-on-conflict", "false")
    config.set("table.exec.sink.upsert-materialize", "NONE")
    if more:
        config.set("pipeline.jars", more[0])

    def table(name: str, columns: str, stored: str, options: str = "") -> None:
        tables.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'jdbc', 'url' = '{url}', 'table-name' = '{stored}', "
            f"'username' = 'postgres', 'password' = 'millrace'{options})"
        )

    generated = (
        f"'connector' = 'datagen', 'number-of-rows' = '{rows}', 'rows-per-second' = '100000000', "
        f"'fields.id.min' = '1', 'fields.id.max' = '{keys}'"
    )
    tables.execute_sql(f"CREATE TABLE made ({COLUMNS}) WITH ({generated}, 'fields.name.length' = '10')")
    tables.execute_sql("CREATE TABLE hole (n BIGINT, total DOUBLE) WITH ('connector' = 'print')")
    table("keyed", KEYED, "keyed")
    table("plain", COLUMNS, "plain")
    bounds = f"'scan.partition.lower-bound' = '1', 'scan.partition.upper-bound' = '{rows}'"
    table("big", COLUMNS, "big", f", 'scan.partition.column' = 'id', 'scan.partition.num' = '4', {bounds}")
    statement = {
        "upsert": "INSERT INTO keyed SELECT * FROM made",
        "append": "INSERT INTO plain SELECT * FROM made",
        "scan": "INSERT INTO hole SELECT COUNT(name), SUM(price) FROM big",
        "lookup": "INSERT INTO hole SELECT COUNT(k.name), SUM(k.price) "
        "FROM (SELECT id, PROCTIME() AS p FROM made) AS m JOIN keyed FOR SYSTEM_TIME AS OF m.p AS k ON k.id = m.id",
    }[mode]
    began = time.perf_counter()
    tables.execute_sql(statement).wait()
    print(f"took {time.perf_counter() - began:.3f} s", flush=True)


if __name__ == "__main__":
    main()
