"""Which engine runs the plans of an environment: that of streaming or that of batch mode."""

from __future__ import annotations

from millrace.table.sessions.engine import Engine


def engine_of(streaming: bool) -> Engine:
    """The engine of a mode. What it needs is imported with its first use: that of batch brings Spark."""
    if streaming:
        from millrace.table.planner.engine import StreamingEngine

        return StreamingEngine()
    from millrace.spark.tables.engine import BatchEngine

    return BatchEngine()
