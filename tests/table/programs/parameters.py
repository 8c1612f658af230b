"""Programs as parameters of tests."""

from __future__ import annotations

import pytest
from tests.table.programs.every import PROGRAMS
from tests.table.programs.program import STREAMING, Program


def _parameter(program: Program) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=program.broken)] if program.broken else []
    return pytest.param(program, id=program.name, marks=marks)


_STREAMING = [program for program in PROGRAMS if program.runs_in(STREAMING)]

streaming_programs = pytest.mark.parametrize("program", list(map(_parameter, _STREAMING)))

programs_of_any_epochs = pytest.mark.parametrize(
    "program", [_parameter(program) for program in _STREAMING if not program.tells_epochs_apart]
)
"""Those whose result does not depend on which rows come in the same epoch."""
