"""Under PyFlink's path: see ``millrace.table.plans.plan_reference``."""

from __future__ import annotations

from millrace.table.plans.plan_reference import (
    BytesContentPlanReference,
    FilePlanReference,
    JsonContentPlanReference,
    PlanReference,
)

__all__ = ["BytesContentPlanReference", "FilePlanReference", "JsonContentPlanReference", "PlanReference"]
