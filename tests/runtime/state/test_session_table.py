"""``SessionTable``: deltas bring a copy to the same sessions, and tell the operator of which keys."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.state.session_table import CONTENTS, END, START, SessionTable

changes = st.tuples(st.sampled_from("abc"), st.sampled_from(["new", "grow", "end"]), st.integers(0, 99))


def change(table: SessionTable, key: str, kind: str, number: int) -> None:
    """As the operator does it: sessions grow in place."""
    sessions = table.rows.get(key)
    if kind == "new":
        table.rows[key] = [*(sessions or ()), [number, number + 5, [number]]]
    elif sessions is None:
        return
    elif kind == "grow":
        session = sessions[number % len(sessions)]
        session[START], session[END] = session[START] - number, session[END] + number
        session[CONTENTS].append(number)
    elif len(sessions) > 1:
        table.rows[key] = sessions[1:]
    else:
        del table.rows[key]
    table.touched[key] = None


@given(st.lists(st.lists(changes, max_size=6), max_size=6))
def test_deltas_to_a_copy(epochs: list[list[tuple[str, str, int]]]) -> None:
    table, follower = SessionTable(), SessionTable()
    for epoch in epochs:
        before: dict[Any, Any] = pickle.loads(pickle.dumps(table.rows))
        for each in epoch:
            change(table, *each)
        follower.apply(pickle.loads(pickle.dumps(table.delta())))
        assert follower.rows == table.rows
        changed = {key for key in {*before, *table.rows} if before.get(key) != table.rows.get(key)}
        assert changed <= set(follower.applied) <= {key for key, _, _ in epoch}
        follower.applied.clear()
        restored = SessionTable()
        restored.apply(pickle.loads(pickle.dumps(table.entries())))
        assert restored.rows == table.rows
        assert restored.applied == list(table.rows)
        assert table.delta() == {}
