"""Every program, stopped with a savepoint after some epochs and restored with any parallelism: the same table. Often
epochs end in the middle of something, and the savepoint has what waits: it goes with its keys, or with its split."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.endings import now_and_then, small_pieces
from tests.table.programs.parameters import streaming_programs
from tests.table.programs.program import Program
from tests.table.programs.restoring import restored
from tests.table.programs.running import announced, as_one, bound, draw_for, expected, final_table

pytestmark = pytest.mark.draw(12)


@streaming_programs
def test_the_final_table(program: Program, tmp_path: Path) -> None:
    made, draw = bound(program), draw_for(program)
    if program.tells_epochs_apart or draw.random() < 0.4:
        epochs = restored(made, bound(program), draw, tmp_path)
    else:
        with small_pieces():
            epochs = as_one(restored(made, bound(program), draw, tmp_path, now_and_then(draw)))
    assert final_table(epochs, announced(made)) == Counter(expected(program))
