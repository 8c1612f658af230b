"""A program ``ssh`` for tests: writes down its arguments, and runs the command here, as a login shell would."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

PROGRAM = """\
#!{python}
import json, os, subprocess, sys
words = sys.argv[1:]
with open({record!r}, "a") as file:
    file.write(json.dumps(words) + "\\n")
host, command = words[words.index("--") + 1:]
if host == "unreachable":
    print("ssh: connect to host unreachable port 22: No route to host", file=sys.stderr)
    sys.exit(255)
if host == "silent":
    import time
    time.sleep(600)
print("Welcome to", host)
sys.stdout.flush()
sys.exit(subprocess.run(["/bin/sh", "-c", command]).returncode)
"""


def install(folder: Path) -> Path:
    """Put it into a folder that comes first on PATH; the file with its arguments, a JSON list a line."""
    folder.mkdir(exist_ok=True)
    record = folder / "calls"
    record.touch()
    program = folder / "ssh"
    program.write_text(PROGRAM.format(python=sys.executable, record=str(record)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return record
