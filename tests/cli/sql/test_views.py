"""What result modes show of a query that changes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from millrace.cli.sql.views import ChangelogView, TableView
from millrace.common.types import RowKind

ADD, UB, UA, DEL = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


def test_an_updated_row_stays_where_it_was() -> None:
    view = TableView(10)
    for kind, row in [(ADD, ("a", "1")), (ADD, ("b", "1")), (UB, ("a", "1")), (UA, ("a", "2"))]:
        view.add(kind, row)
    assert view.rows() == [("a", "2"), ("b", "1")]
    assert view.received == 4


def test_a_row_that_is_taken_back_is_gone_whatever_comes_next() -> None:
    view = TableView(10)
    for kind, row in [(ADD, ("a",)), (UB, ("a",)), (ADD, ("b",))]:
        view.add(kind, row)
    assert view.rows() == [("b",)]


def test_the_old_form_is_not_shown_while_the_new_one_is_on_its_way() -> None:
    view = TableView(10)
    view.add(ADD, ("a",))
    view.add(UB, ("a",))
    assert view.rows() == []


def test_the_oldest_rows_give_way() -> None:
    view = TableView(2)
    for name in "abc":
        view.add(ADD, (name,))
    assert (view.rows(), view.forgotten) == ([("b",), ("c",)], 1)
    view.add(DEL, ("a",))  # nobody knows it any more
    assert view.rows() == [("b",), ("c",)]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=40))
def test_the_table_is_what_its_changes_make_it(steps: list[tuple[str, int]]) -> None:
    """Each step: delete (0), add (1), update to itself or another (2, 3) a row with a name."""
    view, expected = TableView(1000), Counter[tuple[str, ...]]()
    for name, action in steps:
        row = (name,)
        if action == 1 or not expected[row]:
            view.add(ADD, row)
            expected[row] += 1
            continue
        expected[row] -= 1
        view.add(DEL if action == 0 else UB, row)
        if action >= 2:
            new = (name if action == 2 else name + "!",)
            view.add(UA, new)
            expected[new] += 1
    assert Counter(view.rows()) == +expected


def test_a_changelog_keeps_the_last_changes() -> None:
    view = ChangelogView(2)
    for kind, row in [(ADD, ("a",)), (UB, ("a",)), (UA, ("b",))]:
        view.add(kind, row)
    assert view.rows() == [("-U", "a"), ("+U", "b")]
    assert (view.received, view.forgotten) == (3, 1)
