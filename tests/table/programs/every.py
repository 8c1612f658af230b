"""All declared programs."""

from __future__ import annotations

from tests.table.programs import (
    aggregates,
    changelogs,
    comparisons,
    group_windows,
    matching,
    nested_values,
    ordered,
    standard,
    time_joins,
    times,
    windows,
)
from tests.table.programs.program import Program

TOPICS = (
    standard,
    changelogs,
    aggregates,
    windows,
    group_windows,
    ordered,
    time_joins,
    times,
    nested_values,
    matching,
    comparisons,
)
PROGRAMS: list[Program] = [program for topic in TOPICS for program in topic.PROGRAMS]
