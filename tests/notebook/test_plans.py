"""Plans as drawings: the operators of a program, the nodes of a query."""

from __future__ import annotations

from millrace.datastream import StreamExecutionEnvironment
from millrace.notebook.plans import of_plan_json, of_relations
from millrace.table import EnvironmentSettings, TableEnvironment


def test_operators_of_a_program() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_collection([1, 2]).map(lambda x: x).name("twice").key_by(lambda x: x).reduce(lambda a, b: a + b).print()
    drawing = of_plan_json(env.get_execution_plan())
    titles = {box.id: box.title for box in drawing.boxes}
    arrows = [(titles[arrow.source], titles[arrow.target], arrow.label) for arrow in drawing.arrows]
    assert [end for _, end, _ in arrows][0] == "twice" and len(arrows) == len(titles) - 1
    assert "hash" in {label for _, _, label in arrows}


def test_a_query_that_reads_a_table_twice_has_it_once() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table = t_env.from_elements([(1, "a")], ["a", "b"])
    drawing = of_relations(table.union_all(table)._plan)
    assert [box.title for box in drawing.boxes].count("Values") == 1
    assert drawing.boxes[-1].title == "SetOp"
