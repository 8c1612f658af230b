"""Under PyFlink's path: see ``millrace.table.planner.compiled_plan``."""

from __future__ import annotations

from millrace.table.planner.compiled_plan import CompiledPlan

__all__ = ["CompiledPlan"]
