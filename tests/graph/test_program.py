"""The growing program, and where the user made its operators."""

from __future__ import annotations

import inspect

from tests.graph.notation import SPECS

from millrace.common.typeinfo import Types
from millrace.graph.program import Edge, Program, Settings
from millrace.util.tracebacks import user_origin


def names(program: Program) -> str:
    return " ".join(node.name for node in program.graph(Settings(1)).nodes)


def filled() -> Program:
    program = Program()
    a = program.add("a", SPECS["source"])
    program.add("unread", SPECS["source"])
    b = program.add("b", SPECS["map"], (Edge(a.id),))
    program.add("c", SPECS["filter"], (Edge(b.id), Edge(a.id)))
    return program


def test_nodes_count_from_1_and_know_their_line() -> None:
    program = Program()
    node = program.add("a", SPECS["map"], (), Types.INT(), parallelism=3, non_parallel=True)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert node.id == 1
    assert node.origin == f"{__file__}:{line}"
    assert (node.output_type, node.parallelism, node.non_parallel) == (Types.INT(), 3, True)
    assert program.add("b", SPECS["map"]).id == 2
    assert program.node(1) is node


def test_changes_replace() -> None:
    program = filled()
    before = program.node(1)
    program.change(1, name="x", uid="y")
    program.add_side_type(1, "late", Types.INT())
    program.add_side_type(1, "other", None)
    assert (before.name, before.uid, before.side_types) == ("a", None, {})
    after = program.node(1)
    assert (after.name, after.uid, after.side_types) == ("x", "y", {"late": Types.INT(), "other": None})


def test_a_graph_leaves_out_sources_that_nobody_reads() -> None:
    assert names(filled()) == "a b c"
    assert names(Program()) == ""


def test_an_earlier_graph_does_not_change() -> None:
    program = filled()
    graph = program.graph(Settings(1))
    program.change(1, name="x")
    assert graph.nodes[0].name == "a"


def test_after_clear_only_new_nodes_and_what_they_read() -> None:
    program = filled()
    program.clear()
    assert names(program) == ""
    d = program.add("d", SPECS["map"], (Edge(3),))
    assert d.id == 5
    assert names(program) == "a b d"
    program.clear()
    program.add("e", SPECS["map"], (Edge(2),))
    assert names(program) == "unread e"


def test_remove() -> None:
    program = filled()
    program.remove(4)
    program.remove(4)
    assert names(program) == "a b"
    assert program.add("d", SPECS["map"]).id == 5


def test_origin_is_the_nearest_caller_outside_millrace() -> None:
    assert user_origin() == f"{__file__}:{inspect.currentframe().f_lineno}"  # type: ignore[union-attr]
    namespace: dict[str, str] = {"__name__": "job"}
    code = "from millrace.util.tracebacks import user_origin\n\nplace = user_origin()"
    exec(compile(code, "/jobs/job.py", "exec"), namespace)
    assert namespace["place"] == "/jobs/job.py:3"
