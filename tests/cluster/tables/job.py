"""A program of SQL that runs on a cluster: statements, of which the last one is waited for.

    millrace run --master spark://... job.py '{"statements": [..]}'

``SLOW(value, ms)`` is the value, some ms later.
"""

from __future__ import annotations

import json
import sys
import time

from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.udf import udf


@udf(result_type=DataTypes.BIGINT())
def slow(value: int, millis: int) -> int:
    time.sleep(millis / 1000)
    return value


def main() -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.create_temporary_function("SLOW", slow)
    *before, last = json.loads(sys.argv[1])["statements"]
    for statement in before:
        tables.execute_sql(statement)
    tables.execute_sql(last).wait()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
