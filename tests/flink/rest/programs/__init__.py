"""The jobs that requests are about: a SQL script for each state, which Flink and Millrace both run."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
RUN_SQL = HERE / "run_sql.py"
"""a PyFlink program that runs the script that it is given"""
STATES = {
    "running": "RUNNING",
    "plain": "RUNNING",
    "waiting": "RUNNING",
    "finished": "FINISHED",
    "failed": "FAILED",
    "canceled": "CANCELED",
    "restarting": "RESTARTING",
    "batch": "FINISHED",
}
"""name of a job -> the state that it is to be in; "canceled" is the running one, cancelled"""


def script(name: str) -> Path:
    return HERE / f"{'running' if name == 'canceled' else name}.sql"


def statements(text: str) -> list[str]:
    """The statements of a script, without comments."""
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return [each.strip() for each in code.split(";") if each.strip()]
