"""``millrace sql`` as a process of its own, on Spark."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyte
import pytest

pytestmark = pytest.mark.spark

TABLES = """\
SET 'sql-client.display.print-time-cost' = 'false';
CREATE TABLE numbers (n BIGINT) WITH (
  'connector' = 'datagen', 'number-of-rows' = '6', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1',
  'fields.n.end' = '6'
);
CREATE TABLE endless (n BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '100', 'fields.n.min' = '7', 'fields.n.max' = '7'
);
CREATE TABLE printed (n BIGINT) WITH ('connector' = 'print');
"""

SCRIPT = """\
SELECT MOD(n, 2) AS odd, SUM(n) AS total FROM numbers GROUP BY MOD(n, 2);
SET 'table.dml-sync' = 'true';
INSERT INTO printed SELECT n * 10 FROM numbers;
SET 'execution.runtime-mode' = 'batch';
SELECT MOD(n, 2) AS odd, SUM(n) AS total FROM numbers GROUP BY MOD(n, 2) ORDER BY odd;
EXPLAIN ESTIMATED_COST SELECT SUM(n) FROM numbers;
INSERT INTO printed SELECT n * 100 FROM numbers WHERE n < 3;
SET 'execution.runtime-mode' = 'streaming';
SET 'table.dml-sync' = 'false';
INSERT INTO printed SELECT 1 / (n - 7) FROM endless;
"""

BATCH = """\
+-----+-------+
| odd | total |
+-----+-------+
|   0 |    12 |
|   1 |     9 |
+-----+-------+
2 rows in set
"""


def test_a_script(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(TABLES + SCRIPT)
    command = [sys.executable, "-m", "millrace", "sql", "-p", "1", "-f", "a.sql"]
    ended = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    out = ended.stdout

    changes = re.findall(r"^\| (\S\S) \| +(\d) \| +(\d+) \|$", out, re.MULTILINE)
    table: Counter[tuple[str, str]] = Counter()
    for kind, odd, total in changes:
        table[odd, total] += 1 if kind in ("+I", "+U") else -1
    assert +table == Counter({("0", "12"): 1, ("1", "9"): 1})
    assert f"Received a total of {len(changes)} rows\n" in out

    printed = re.findall(r"^\+I\[(\d+)\]$", out, re.MULTILINE)
    assert sorted(map(int, printed)) == [10, 20, 30, 40, 50, 60, 100, 200]
    assert BATCH in out
    assert "== Plan of Spark ==" in out
    assert "Statistics(" in out
    assert "printed: 2 rows" in ended.stderr
    assert "division by zero" in ended.stderr.lower()
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 1


class Terminal:
    """A client at a terminal."""

    def __init__(self, folder: Path) -> None:
        self.seen = ""
        self.screen = pyte.Screen(80, 24)
        self._shown = pyte.Stream(self.screen)
        self.process, self._end = pty.fork()
        if self.process == 0:
            # Whatever runs the tests may ignore Ctrl-C, and that would be inherited.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.chdir(folder)
            os.environ |= {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
            command = [sys.executable, "-m", "millrace", "sql", "-p", "1", "-i", "a.sql", "-hist", "history"]
            os.execv(sys.executable, command)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing goes on after a test that failed."""
        os.close(self._end)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait_for(self, pattern: str, seconds: float = 120) -> None:
        """Read until the pattern is there, and forget what came before."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self.seen)) is None:
            self._read_more(pattern, deadline)
        self.seen = self.seen[found.end() :]

    def wait_for_screen(self, pattern: str, seconds: float = 120) -> None:
        """Read until the pattern is in a line as it is shown: a page that changes writes only what is new in it."""
        deadline = time.monotonic() + seconds
        while not any(re.search(pattern, line) for line in self.screen.display):
            self._read_more(pattern, deadline)
        self.seen = ""

    def _read_more(self, pattern: str, deadline: float) -> None:
        left = deadline - time.monotonic()
        assert left > 0, f"{pattern!r} is not in {self.seen[-2000:]!r}"
        if select.select([self._end], [], [], left)[0]:
            try:
                text = os.read(self._end, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the client has ended: {self.seen[-2000:]!r}") from None
            self.seen += text
            self._shown.feed(text)

    def exit_code(self) -> int:
        while select.select([self._end], [], [], 120)[0]:
            try:
                if not os.read(self._end, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_ctrl_c_ends_a_query_and_the_client_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(TABLES)
    with Terminal(tmp_path) as terminal:
        terminal.wait_for("Millrace SQL>")
        terminal.type("SELECT n FROM endless;\r")
        terminal.wait_for("Starting Spark")
        terminal.wait_for(r"\| \+I \| +7 \|")
        terminal.type("\x03")
        terminal.wait_for(r"Query terminated, received a total of \d+ row")
        terminal.wait_for("Millrace SQL>")
        terminal.type("SET 'execution.runtime-mode' = 'batch'; SELECT COUNT(*) AS c FROM numbers;\r")
        terminal.wait_for(r"\| 6 \|")
        terminal.wait_for("1 row in set")
        terminal.type("RESET 'execution.runtime-mode'; SET 'sql-client.execution.result-mode' = 'table';\r")
        terminal.wait_for("(?s)succeeded.*succeeded")
        terminal.type("SELECT COUNT(*) AS c FROM numbers;\r")
        terminal.wait_for_screen(r"\| +6 \|")
        terminal.type("q")
        terminal.wait_for("Millrace SQL>")
        terminal.type("INSERT INTO printed SELECT n FROM endless;\r")
        terminal.wait_for("Job ID: [0-9a-f]{32}")
        terminal.wait_for(r"\+I\[7\]")
        terminal.type("QUIT\r")
        terminal.wait_for("runs, and would be cancelled")
        terminal.type("QUIT\r")
        assert terminal.exit_code() == 0
