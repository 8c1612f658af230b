"""``Agenda`` against a plain list of pairs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.windows.slicing import Agenda

STEPS = st.lists(st.tuples(st.sampled_from(["add", "due"]), st.integers(0, 9), st.sampled_from("abc")))


@given(STEPS)
def test_entries_come_once_and_in_order_of_time(steps: list[tuple[str, int, str]]) -> None:
    agenda: Agenda[str] = Agenda()
    waiting: set[tuple[int, str]] = set()
    for step, time, entry in steps:
        if step == "add":
            agenda.add(time, entry)
            waiting.add((time, entry))
        else:
            found = [(at, sorted(entries)) for at, entries in agenda.due(time)]
            due = {each for each in waiting if each[0] <= time}
            times = sorted({at for at, _ in due})
            assert found == [(at, sorted(each for when, each in due if when == at)) for at in times]
            waiting -= due
        assert agenda.next_time() == min((at for at, _ in waiting), default=None)
    agenda.clear()
    assert agenda.next_time() is None


def test_what_is_added_while_entries_are_taken_is_taken_too() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.add(1, "a")
    found = []
    for time, entries in agenda.due(5):
        found += [(time, each) for each in entries]
        if time < 4:
            agenda.add(time + 3, "b")
    assert found == [(1, "a"), (4, "b")]
