# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``CompiledPlan``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.planner.compiled_plan import CompiledPlan

__all__ = [
    "CompiledPlan",
]
