"""Every program as a stream, divided into batches and epochs at random: at the end the table is right, and on the way
its changelog never contradicts itself."""

from __future__ import annotations

from collections import Counter

from tests.table.programs.parameters import streaming_programs
from tests.table.programs.program import Program
from tests.table.programs.running import announced, bound, draw_for, expected, final_table, streamed


@streaming_programs
def test_the_final_table(program: Program) -> None:
    made, wanted = bound(program), Counter(expected(program))
    changes = announced(made)
    for number in range(2):
        draw = draw_for(program, number)
        assert final_table(streamed(made, draw, draw.randint(1, 3)), changes) == wanted
