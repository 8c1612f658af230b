"""The program that is killed: a table of a database is captured, and kept as another table.

    millrace run job.py '{"captured": {OPTION: ..}, "copied": {OPTION: ..}, "order": FILE}'

It ends when the file ``order`` appears.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from millrace.table import EnvironmentSettings, TableEnvironment

COLUMNS = "id INT, v STRING, n DECIMAL(12, 2), changed TIMESTAMP_LTZ(6), PRIMARY KEY (id) NOT ENFORCED"


def main() -> None:
    given = json.loads(sys.argv[1])
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name in ("captured", "copied"):
        options = ", ".join(f"'{key}' = '{value}'" for key, value in given[name].items())
        tables.execute_sql(f"CREATE TABLE {name} ({COLUMNS}) WITH ({options})")
    client = tables.execute_sql("INSERT INTO copied SELECT * FROM captured").get_job_client()
    assert client is not None
    order = Path(given["order"])
    while not client.get_job_status().result().is_globally_terminal_state() and not order.exists():
        time.sleep(0.1)
    if order.exists():
        client.stop_with_savepoint(True, f"{order}-savepoint").result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
