"""Every program as a stream, divided into batches and epochs at random, which end in the middle of anything: at the end
the table is right, and on the way its changelog never contradicts itself."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.endings import now_and_then, small_pieces
from tests.table.programs.parameters import streaming_programs
from tests.table.programs.program import Program
from tests.table.programs.running import announced, as_one, bound, draw_for, expected, final_table, streamed

pytestmark = pytest.mark.draw(12)


@streaming_programs
def test_the_final_table(program: Program) -> None:
    made, wanted = bound(program), Counter(expected(program))
    changes = announced(made)
    for number in range(1 + program.tells_epochs_apart):
        draw = draw_for(program, number)
        assert final_table(streamed(made, draw, draw.randint(1, 3)), changes) == wanted
    if not program.tells_epochs_apart:
        with small_pieces():
            epochs = streamed(made, draw, draw.randint(1, 3), finish=now_and_then(draw))
        assert final_table(as_one(epochs), changes) == wanted
