"""A PyFlink program: random numbers and texts through a Python function, results thrown away. FUNCTION ROWS."""

import sys
import time

from pyflink.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udaf, udf, udtf

SOURCE = """
    CREATE TABLE source (id BIGINT, price DOUBLE, name STRING, kind BIGINT{columns}) WITH (
        'connector' = 'datagen', 'number-of-rows' = '{rows}', 'rows-per-second' = '1000000000',
        'fields.name.length' = '8', 'fields.kind.min' = '0', 'fields.kind.max' = '999',
        'fields.price.min' = '0', 'fields.price.max' = '1000'{options}
    )
"""
TIMES = {
    "columns": """,
        number BIGINT, moment AS TO_TIMESTAMP_LTZ(number, 3), WATERMARK FOR moment AS moment - INTERVAL '1' SECOND""",
    "options": """,
        'fields.number.kind' = 'sequence', 'fields.number.start' = '1', 'fields.number.end' = '{rows}'""",
}
NO_TIMES = {"columns": "", "options": ""}


@udf(result_type=DataTypes.BIGINT())
def by_row(number: int) -> int:
    return number % 1000 + 1


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def by_column(numbers):  # type: ignore[no-untyped-def]
    return numbers % 1000 + 1


@udtf(result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
def two_rows(number, text):  # type: ignore[no-untyped-def]
    yield number % 1000, text
    yield number % 1000 + 1, text[1:]


class CountAndSum(AggregateFunction):
    """A mean weighted by nothing: count and sum in a list."""

    def create_accumulator(self):  # type: ignore[no-untyped-def]
        return [0, 0]

    def accumulate(self, accumulator, number):  # type: ignore[no-untyped-def]
        accumulator[0] += 1
        accumulator[1] += number % 1000

    def retract(self, accumulator, number):  # type: ignore[no-untyped-def]
        accumulator[0] -= 1
        accumulator[1] -= number % 1000

    def get_value(self, accumulator):  # type: ignore[no-untyped-def]
        return accumulator[1] // accumulator[0] if accumulator[0] else None

    def get_accumulator_type(self):  # type: ignore[no-untyped-def]
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):  # type: ignore[no-untyped-def]
        return DataTypes.BIGINT()


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean_of_column(prices):  # type: ignore[no-untyped-def]
    return prices.mean()


# name -> (the function, execution mode, batch or streaming, columns of the sink, query)
FUNCTIONS = {
    "row": (by_row, "thread", "streaming", "id BIGINT, price DOUBLE", "SELECT compute(id), price FROM source"),
    "pandas": (by_column, "process", "streaming", "id BIGINT, price DOUBLE", "SELECT compute(id), price FROM source"),
    "table": (
        two_rows,
        "thread",
        "streaming",
        "price DOUBLE, number BIGINT, text STRING",
        "SELECT price, number, text FROM source, LATERAL TABLE(compute(id, name)) AS made (number, text)",
    ),
    "batch": (by_column, "process", "batch", "id BIGINT, price DOUBLE", "SELECT compute(id), price FROM source"),
    "table-batch": (
        two_rows,
        "thread",
        "batch",
        "price DOUBLE, number BIGINT, text STRING",
        "SELECT price, number, text FROM source, LATERAL TABLE(compute(id, name)) AS made (number, text)",
    ),
    "aggregate": (
        udaf(CountAndSum()),
        "process",
        "streaming",
        "kind BIGINT, found BIGINT",
        "SELECT kind, compute(id) FROM source GROUP BY kind",
    ),
    "pandas-aggregate": (
        mean_of_column,
        "process",
        "batch",
        "kind BIGINT, found DOUBLE",
        "SELECT kind, compute(price) FROM source GROUP BY kind",
    ),
    "pandas-window": (
        mean_of_column,
        "process",
        "streaming",
        "kind BIGINT, found DOUBLE",
        "SELECT kind, compute(price) FROM source GROUP BY kind, TUMBLE(moment, INTERVAL '1' HOUR)",
    ),
}


def main(name: str, rows: int) -> None:
    function, execution, mode, columns, query = FUNCTIONS[name]
    settings = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("python.execution-mode", execution)
    t_env.get_config().set("python.fn-execution.arrow.batch.size", "10000")
    t_env.create_temporary_function("compute", function)
    times = TIMES if "moment" in query else NO_TIMES
    t_env.execute_sql(SOURCE.format(rows=rows, **{name: text.format(rows=rows) for name, text in times.items()}))
    t_env.execute_sql(f"CREATE TABLE sink ({columns}) WITH ('connector' = 'blackhole')")
    result = t_env.execute_sql(f"INSERT INTO sink {query}")
    result.wait()
    runtime = result.get_job_client().get_job_execution_result().result().get_net_runtime()
    print(f"net runtime {runtime} ms")


if __name__ == "__main__":
    started = time.time()
    main(sys.argv[1], int(sys.argv[2]))
    print(f"wall {time.time() - started:.1f} s")
