"""Runs a SQL script as a program: `run_sql.py SCRIPT`. Settings of the script are those of the job."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    statements = [each.strip() for each in code.split(";") if each.strip()]
    batch = "'execution.runtime-mode' = 'batch'" in code
    tables = TableEnvironment.create(
        EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    )
    for statement in statements:
        setting = re.fullmatch(r"SET '(.*)' = '(.*)'", statement)
        if setting is None:
            result = tables.execute_sql(statement)
        elif setting[1] != "execution.runtime-mode":
            tables.get_config().set(setting[1], setting[2])
    if "--wait" in sys.argv:
        result.wait()


main()
