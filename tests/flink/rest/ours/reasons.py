"""Where a cluster of ours answers otherwise than Flink, by reason: those of every server, and those of real jobs."""

from __future__ import annotations

from tests.flink.rest.known import KNOWN, Known

CHANCE = "how far a job has come when it is asked about is chance"
OF_JOBS: tuple[Known, ...] = ()
OF_COMMAND: tuple[Known, ...] = ()
REASONS = (*KNOWN, *OF_JOBS, *OF_COMMAND)
"""The first that fits counts."""
