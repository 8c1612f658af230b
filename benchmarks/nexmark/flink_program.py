"""The queries of Nexmark on Flink SQL, for ``benchmarks.nexmark --against-pyflink``: needs nothing but PyFlink.

    python flink_program.py QUERIES.json

QUERIES.json has the DDL of tables over files, and the queries with the columns of their results. Prints a line for each
query: its name, the run time of its job in ms and its processor time in s, or what Flink says of it.
"""

import json
import sys

from cpu import cpu_seconds
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf


def count_char(text, char):
    return text.count(char)


def main():
    with open(sys.argv[1]) as file:
        given = json.load(file)
    configuration = Configuration()
    configuration.set_string("parallelism.default", str(given["parallelism"]))
    configuration.set_string("python.execution-mode", "thread")
    configuration.set_string("table.local-time-zone", "UTC")
    for key, value in given["settings"].items():
        configuration.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    session = TableEnvironment.create(settings)
    for statement in given["ddl"]:
        session.execute_sql(statement)
    session.create_temporary_system_function("count_char", udf(count_char, result_type="BIGINT"))
    for name, query in given["queries"].items():
        try:
            begin = cpu_seconds()
            columns = query["columns"]
            session.execute_sql(f"CREATE TEMPORARY TABLE sink_{name} ({columns}) WITH ('connector' = 'blackhole')")
            result = session.execute_sql(f"INSERT INTO sink_{name} {query['sql']}")
            done = result.get_job_client().get_job_execution_result().result()
            print(f"{name} {done.get_net_runtime()} {cpu_seconds() - begin:.2f}", flush=True)
        except Exception as error:
            causes = [line for line in str(error).splitlines() if "Exception" in line]
            print(f"{name} failed: {(causes or [str(error)])[-1].strip()[:200]}", flush=True)


if __name__ == "__main__":
    main()
