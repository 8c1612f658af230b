"""Every program in flow: tasks take turns at random, epochs end anywhere, and all tasks are lost now and then. At the
end the table is right."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from tests.endings import small_pieces
from tests.table.programs.parameters import programs_of_any_epochs
from tests.table.programs.program import Program
from tests.table.programs.running import announced, as_one, bound, draw_for, expected, final_table, streamed

from millrace.testing.flow import FlowEngine

pytestmark = pytest.mark.draw(12)


@programs_of_any_epochs
def test_the_final_table(program: Program) -> None:
    made, draw = bound(program), draw_for(program)
    engine_of = partial(
        FlowEngine,
        draw=draw,
        most=draw.choice([1, 3, 16_384]),
        end=draw.choice([0.0, 0.005, 0.05]),
        aligned=draw.random() < 0.3,
        dies=draw.choice([0.0, 0.2]),
    )
    with small_pieces():
        epochs = streamed(made, draw, draw.randint(1, 3), engine_of=engine_of)
    assert final_table(as_one(epochs), announced(made)) == Counter(expected(program))
