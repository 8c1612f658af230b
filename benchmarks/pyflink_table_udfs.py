"""A PyFlink program: random numbers and texts through a Python function, results thrown away. FUNCTION ROWS."""

import sys
import time

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

SOURCE = """
    CREATE TABLE source (id BIGINT, price DOUBLE, name STRING) WITH (
        'connector' = 'datagen', 'number-of-rows' = '{rows}', 'rows-per-second' = '1000000000',
        'fields.name.length' = '8'
    )
"""


@udf(result_type=DataTypes.BIGINT())
def by_row(number: int) -> int:
    return number % 1000 + 1


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def by_column(numbers):  # type: ignore[no-untyped-def]
    return numbers % 1000 + 1


def main(function: str, rows: int) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("python.execution-mode", "thread" if function == "row" else "process")
    t_env.get_config().set("python.fn-execution.arrow.batch.size", "10000")
    t_env.create_temporary_function("compute", by_row if function == "row" else by_column)
    t_env.execute_sql(SOURCE.format(rows=rows))
    t_env.execute_sql("CREATE TABLE sink (id BIGINT, price DOUBLE) WITH ('connector' = 'blackhole')")
    result = t_env.execute_sql("INSERT INTO sink SELECT compute(id), price FROM source")
    result.wait()
    runtime = result.get_job_client().get_job_execution_result().result().get_net_runtime()
    print(f"net runtime {runtime} ms")


if __name__ == "__main__":
    started = time.time()
    main(sys.argv[1], int(sys.argv[2]))
    print(f"wall {time.time() - started:.1f} s")
