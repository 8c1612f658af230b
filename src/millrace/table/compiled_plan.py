"""``CompiledPlan``: a plan that was optimised once and is kept."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from millrace.table.explain_detail import ExplainDetail
from millrace.table.not_yet import not_yet

if TYPE_CHECKING:
    from millrace.table.table_result import TableResult

__all__ = ["CompiledPlan"]

_NEAREST = "execute_sql with the statement itself: a savepoint is restored as long as its plan is the same"


class CompiledPlan:
    """Not there yet: plans cannot be written to files."""

    def __init__(self) -> None:
        raise not_yet("CompiledPlan", _NEAREST)

    def as_json_string(self) -> str:
        raise not_yet("CompiledPlan", _NEAREST)

    def as_smile_bytes(self) -> bytes:
        raise not_yet("CompiledPlan", _NEAREST)

    def execute(self) -> TableResult:
        raise not_yet("CompiledPlan", _NEAREST)

    def explain(self, *extra_details: ExplainDetail) -> str:
        raise not_yet("CompiledPlan", _NEAREST)

    def get_flink_version(self) -> str:
        raise not_yet("CompiledPlan", _NEAREST)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        raise not_yet("CompiledPlan", _NEAREST)

    def print_json_string(self) -> None:
        raise not_yet("CompiledPlan", _NEAREST)

    def write_to_file(self, file: str | pathlib.Path, ignore_if_exists: bool = False) -> None:
        raise not_yet("CompiledPlan", _NEAREST)
