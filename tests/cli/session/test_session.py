"""A session with Spark: programs on it and without it say the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

GOOD = """
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([1, 2, 3]).map(lambda v: v * 7).print()
env.execute("good")
"""
BAD = GOOD.replace("v * 7", "1 / (v - 2)")


def test_programs_say_the_same_on_a_session_and_without(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    environment = {**os.environ, "MILLRACE_RUN_DIR": str(tmp_path / "run")}

    def millrace(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "millrace", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    assert millrace("session", "status").returncode == 1
    started = millrace("session", "start", "--idle-timeout", "10 min")
    assert started.returncode == 0, started.stderr
    try:
        on_it, alone = millrace("run", "good.py"), millrace("run", "--no-session", "good.py")
        assert (on_it.returncode, on_it.stdout, on_it.stderr) == (0, "7\n14\n21\n", "")
        assert (alone.returncode, alone.stdout, alone.stderr) == (0, "7\n14\n21\n", "")
        on_it, alone = millrace("run", "bad.py"), millrace("run", "--no-session", "bad.py")
        assert on_it.returncode == alone.returncode == 1
        assert without_log(on_it.stderr) == without_log(alone.stderr)
        assert "ZeroDivisionError" in on_it.stderr
        assert "| +I |           2 |" in millrace("sql", "-e", "SELECT 1 + 1").stdout
        assert "already" in millrace("session", "start").stderr
        other = millrace("run", "-D", "spark.sql.shuffle.partitions=3", "good.py")
        assert other.stdout == "7\n14\n21\n"
        assert other.stderr == "not on the session: it has other settings: spark.sql.shuffle.partitions\n"
        assert "programs: 0" in millrace("session", "status").stdout
    finally:
        stopped = millrace("session", "stop")
    assert stopped.stdout == "stopped the session\n"
    assert not os.path.exists(tmp_path / "run" / "session")


def without_log(text: str) -> list[str]:
    """Lines but the one that names the log of the JVM."""
    return [line for line in text.splitlines() if not line.startswith("details:")]
