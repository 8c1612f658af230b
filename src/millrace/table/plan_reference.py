"""Under PyFlink's path: see ``millrace.table.planner.compiled_plan``."""

from __future__ import annotations

from millrace.table.planner.compiled_plan import (
    BytesContentPlanReference,
    FilePlanReference,
    JsonContentPlanReference,
    PlanReference,
)

__all__ = ["BytesContentPlanReference", "FilePlanReference", "JsonContentPlanReference", "PlanReference"]
