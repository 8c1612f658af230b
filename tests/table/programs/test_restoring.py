"""Every program, stopped with a savepoint after some epochs and restored with any parallelism: the same table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.table.programs.parameters import streaming_programs
from tests.table.programs.program import Program
from tests.table.programs.restoring import restored
from tests.table.programs.running import announced, bound, draw_for, expected, final_table


@streaming_programs
def test_the_final_table(program: Program, tmp_path: Path) -> None:
    made = bound(program)
    epochs = restored(made, bound(program), draw_for(program), tmp_path)
    assert final_table(epochs, announced(made)) == Counter(expected(program))
