"""The program of both sides, for PyFlink and for ``millrace run --pyflink``: needs nothing but one of them.

    python program.py WORK.json

WORK.json has the settings, the DDL of the tables with few and with all rows, and the queries with the columns of their
results. Prints a line for each query and each size: its name, the size, the seconds by the clock from its submission to
its end and the seconds of processors; or what the side says of it.
"""

import ctypes
import json
import os
import sys
import time

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "nexmark"))
from cpu import cpu_seconds

PR_SET_CHILD_SUBREAPER = 36


def count_char(text, char):
    return text.count(char)


def session_of(settings):
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    session = TableEnvironment.create(settings)
    session.create_temporary_system_function("count_char", udf(count_char, result_type="BIGINT"))
    return session


def run(session, sink, query):
    """Seconds by the clock and of processors."""
    session.execute_sql(f"CREATE TABLE `{sink}` ({query['columns']}) WITH ('connector' = 'blackhole')")
    begin, used = time.perf_counter(), cpu_seconds()
    session.execute_sql(f"INSERT INTO `{sink}` {query['sql']}").wait()
    return time.perf_counter() - begin, cpu_seconds() - used


def main():
    # Processes whose parents have ended become this one's, so that their time is counted.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with open(sys.argv[1]) as file:
        given = json.load(file)
    session = session_of(given["settings"])
    for size, statements in given["ddl"].items():
        session.execute_sql(f"CREATE DATABASE size_{size}")
        session.execute_sql(f"USE size_{size}")
        for statement in statements:
            session.execute_sql(statement)
    warm = True
    for name, query in given["queries"].items():
        for turn, size in enumerate(["few", "few", "whole"] if warm else ["few", "whole"]):
            session.execute_sql(f"USE size_{size}")
            try:
                wall, processors = run(session, f"sink_{name}_{turn}", query)
            except Exception as error:
                causes = [line for line in str(error).splitlines() if "Exception" in line or "Error" in line]
                print(f"{name} failed {(causes or [str(error)])[-1].strip()[:200]}", flush=True)
                break
            print(f"{name} {size} {wall:.3f} {processors:.3f}", flush=True)
        else:
            warm = False


if __name__ == "__main__":
    main()
