"""The files entered on the way of a small query, and of an element: their number may only fall."""

from __future__ import annotations

from scripts.house.walks import area_of, entered, walks

MOST_TO_BIND = 32
MOST_TO_EXPLAIN = 40
MOST_OF_AN_EPOCH = 33


def test_a_small_query_and_an_element_enter_few_files() -> None:
    bound, planned, worked = walks().values()
    assert {"table/sql/grammar/parser.py", "table/sql/binding/select.py", "relational/rex.py"} <= bound.keys()
    assert {"relational/rules/optimizer.py", "table/planner/plan.py", "graph/lowering.py"} <= planned.keys()
    assert len(bound) <= MOST_TO_BIND, sorted(bound)
    assert len(planned) <= MOST_TO_EXPLAIN, sorted(planned)
    assert {"runtime/tasks/task.py", "runtime/operators/source.py", "runtime/exchange/codec.py"} <= worked.keys()
    assert len(worked) <= MOST_OF_AN_EPOCH, sorted(worked)


def test_calls_into_the_package_count_and_others_do_not() -> None:
    from millrace.util.names import did_you_mean

    value, files = entered(lambda: (did_you_mean("mil", ["mill"]), sorted("ba", key=str.lower)))
    assert "mill" in value[0] and files["util/names.py"] >= 1
    assert set(files) == {"util/names.py"}


def test_each_file_has_an_area() -> None:
    assert area_of("table/sql/text.py") == area_of("relational/rex.py") == "SQL, expressions and plans"
    assert area_of("graph/lowering.py") == "planner, graph and operators"
    assert area_of("table/sessions/session.py") == "environment, catalog, settings and connector"
