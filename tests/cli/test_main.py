"""``millrace --help``: it starts at once, so nothing heavy may be imported for it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"pyspark", "py4j", "pyarrow", "pandas", "numpy", "rich", "prompt_toolkit", "httpx", "starlette", "msgspec"}

CODE = f"""
import sys
from millrace.cli.main import main
main(["--help"], standalone_mode=False)
print(sorted({HEAVY} & set(sys.modules)))
"""


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=True)
    *said, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    listed = {word for line in said for word in line.replace('"', " ").replace(":", " ").split()}
    assert {"run", "sql", "demo", "doctor", "new"} <= listed
