"""A call that lets no other thread run is seen in the log: function and operator are on its stack."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading

import pytest

DEADLINE_SECONDS = 90.0
PROGRAM = """
    import re, sys, time
    from millrace.spark.workers.owner import watch_interpreter
    watch_interpreter({held}, 0.1)
    def patterns_of_the_user():
        if {stuck}:
            return re.search("(a+)+$", "a" * {letters} + "!")
        time.sleep(3)
    patterns_of_the_user()
"""


QUERY = """
    from millrace.connectors.tables.values_table import register_values
    from millrace.spark.workers.owner import watch_interpreter
    from tests.connectors.tables.message_tables import MessageTables
    register_values("t", [("a" * 60 + "!",)])
    tables = MessageTables()
    tables.environment.execute_sql("CREATE TABLE t (s STRING) WITH ('connector' = 'values')")
    watch_interpreter(1.0, 0.1)
    tables.query("SELECT {call} FROM t", parallelism=1)
"""


def run(stuck: bool, letters: int = 0) -> str:
    """What the process writes to standard error; it is ended once it has said what it waits in."""
    return told(textwrap.dedent(PROGRAM).format(held=1.0, stuck=stuck, letters=letters), "patterns_of_the_user")


def told(program: str, awaited: str) -> str:
    """What a program writes to standard error, until a whole account has this text in it."""
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as running:
        late = threading.Timer(DEADLINE_SECONDS, running.kill)
        late.start()
        lines: list[str] = []
        assert running.stderr is not None
        for line in running.stderr:
            lines.append(line)
            if awaited in line:
                break
        running.kill()
        late.cancel()
    return "".join(lines)


def test_a_pattern_without_end_is_named() -> None:
    text = run(stuck=True, letters=60)
    assert "in patterns_of_the_user" in text
    assert "Timeout" in text


def test_what_waits_without_holding_it_is_not() -> None:
    assert run(stuck=False) == ""


@pytest.mark.draw(2)
@pytest.mark.parametrize(
    "call",
    [
        "REGEXP_EXTRACT(s, '((a+)+)(?!b)$', 1)", "REGEXP_REPLACE(s, '(a+)+(?!b)$', 'x')", "REGEXP_COUNT(s, '(a+)+$')",
        "STR_TO_MAP(s, '(a+)+$', '=')",
    ],
)  # fmt: skip
def test_the_operator_of_a_pattern_without_end_is_named(call: str) -> None:
    text = told(textwrap.dedent(QUERY).format(call=call), "in operator ")
    assert "Timeout" in text
    assert re.search(r"in operator 'Calc', made at \S+topic_tables.py:\d+$", text.strip())
