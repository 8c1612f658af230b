"""The plan of a program as a picture."""

from __future__ import annotations

from millrace.datastream import StreamExecutionEnvironment
from millrace.util.graph_drawing import drawing_of_plan


def test_operators_of_a_program() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_collection([1, 2]).map(lambda x: x).name("twice").key_by(lambda x: x).reduce(lambda a, b: a + b).print()
    drawing = drawing_of_plan(env.get_execution_plan())
    titles = {box.id: box.title for box in drawing.boxes}
    arrows = [(titles[arrow.source], titles[arrow.target], arrow.label) for arrow in drawing.arrows]
    assert next(end for _, end, _ in arrows) == "twice" and len(arrows) == len(titles) - 1
    assert "hash" in {label for _, _, label in arrows}
