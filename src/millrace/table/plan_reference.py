# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""References to compiled plans, under PyFlink's path."""

from __future__ import annotations

from millrace.table.planner.compiled_plan import (
    BytesContentPlanReference,
    FilePlanReference,
    JsonContentPlanReference,
    PlanReference,
)

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]
