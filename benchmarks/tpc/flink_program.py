"""The queries in Flink's batch mode; needs nothing but PyFlink, and the jars for Parquet.

    python flink_program.py WORK.json

As ``spark_program.py``. The rows stay in the JVM: they are counted there, so that nothing is pickled.
"""

import json
import sys
import time

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment


def answer(session, text):
    """Run a query to its last row."""
    rows = session.execute_sql(text)._j_table_result.collect()
    while rows.hasNext():
        rows.next()
    rows.close()


def main():
    with open(sys.argv[1]) as file:
        work = json.load(file)
    configuration = Configuration()
    for key, value in work["flink"].items():
        configuration.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_batch_mode().with_configuration(configuration).build()
    session = TableEnvironment.create(settings)
    for statement in work["ddl"]:
        session.execute_sql(statement)
    answer(session, work["first"])
    for _ in range(work["turns"]):
        for name, text in work["queries"].items():
            begin = time.perf_counter()
            try:
                answer(session, text)
                print(f"{name}\t{time.perf_counter() - begin:.4f}", flush=True)
            except Exception as error:
                causes = [line for line in str(error).splitlines() if "Exception" in line or "Error" in line]
                print(f"{name}\tfailed: {(causes or [str(error)])[-1].strip()[:200]}", flush=True)


if __name__ == "__main__":
    main()
