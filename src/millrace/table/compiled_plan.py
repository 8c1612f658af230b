"""Under PyFlink's path: see ``millrace.table.plans.compiled_plan``."""

from __future__ import annotations

from millrace.table.plans.compiled_plan import CompiledPlan

__all__ = ["CompiledPlan"]
