"""A call that lets no other thread run is seen in the log: function and operator are on its stack."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = """
    import re, sys, time
    from millrace.spark.owners.held import watch_interpreter
    watch_interpreter({held}, 0.1)
    def patterns_of_the_user():
        if {stuck}:
            return re.search("(a+)+$", "a" * {letters} + "!")
        time.sleep(3)
    patterns_of_the_user()
"""


def run(stuck: bool, letters: int = 0) -> str:
    """What the process writes to standard error; it is ended after a while."""
    program = textwrap.dedent(PROGRAM).format(held=1.0, stuck=stuck, letters=letters)
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=20, check=True)
    except subprocess.TimeoutExpired as error:
        return (error.stderr or b"").decode()
    return done.stderr.decode()


def test_a_pattern_without_end_is_named() -> None:
    text = run(stuck=True, letters=60)
    assert "in patterns_of_the_user" in text
    assert "Timeout" in text


def test_what_waits_without_holding_it_is_not() -> None:
    assert run(stuck=False) == ""
