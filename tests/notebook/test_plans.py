"""Plans as drawings: the nodes of a query."""

from __future__ import annotations

from millrace.notebook.previews import of_relations
from millrace.table import EnvironmentSettings, TableEnvironment


def test_a_query_that_reads_a_table_twice_has_it_once() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table = t_env.from_elements([(1, "a")], ["a", "b"])
    drawing = of_relations(table.union_all(table)._plan)
    assert [box.title for box in drawing.boxes].count("Values") == 1
    assert drawing.boxes[-1].title == "SetOp"
