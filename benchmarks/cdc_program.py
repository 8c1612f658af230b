"""The program of ``benchmarks.cdc``: SQL that PyFlink and Millrace both run.

    python benchmarks/cdc_program.py PORT DATABASE ROWS [JARS]

Reads all rows of a captured table, counts them, and prints how long that took, in seconds.
"""

import sys
import time

from pyflink.table import EnvironmentSettings, TableEnvironment


def main() -> None:
    port, database, *more = sys.argv[1:]
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = tables.get_config()
    config.set("parallelism.default", "2")
    config.set("execution.checkpointing.interval", "1 s")
    # A row of the result a second, not one for each row that is read.
    config.set("table.exec.mini-batch.enabled", "true")
    config.set("table.exec.mini-batch.allow-latency", "1 s")
    config.set("table.exec.mini-batch.size", "100000")
    if more:
        config.set("pipeline.jars", more[0])
    tables.execute_sql(
        "CREATE TABLE captured (id INT, v STRING, n DECIMAL(12, 2), changed TIMESTAMP_LTZ(6), "
        "PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'postgres-cdc', 'hostname' = '127.0.0.1', "
        f"'port' = '{port}', 'username' = 'postgres', 'password' = 'millrace', 'database-name' = '{database}', "
        "'schema-name' = 'public', 'table-name' = 't', 'slot.name' = 'bench', 'decoding.plugin.name' = 'pgoutput', "
        "'scan.incremental.snapshot.enabled' = 'true', 'scan.startup.mode' = 'snapshot')"
    )
    tables.execute_sql("CREATE TABLE counted (c BIGINT, s DECIMAL(38, 2), l BIGINT) WITH ('connector' = 'print')")
    began = time.perf_counter()
    statement = "INSERT INTO counted SELECT COUNT(changed), SUM(n), SUM(CHAR_LENGTH(v)) FROM captured"
    tables.execute_sql(statement).wait()
    print(f"took {time.perf_counter() - began:.3f} s", flush=True)


if __name__ == "__main__":
    main()
