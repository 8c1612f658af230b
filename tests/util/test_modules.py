"""Tables in which modules enter what they have."""

from __future__ import annotations

from typing import Any

from millrace.util.names import entered


def test_what_is_decorated_stays_what_it_is_and_is_found_under_all_its_keys() -> None:
    table: dict[str, Any] = {"a": None}

    @entered(table, "b", "c")
    def function() -> int:
        return 1

    assert function() == 1
    assert table == {"a": None, "b": function, "c": function}


def test_a_later_one_takes_the_place() -> None:
    table: dict[type, Any] = {}
    first = entered(table, int)("first")
    assert (first, table) == ("first", {int: "first"})
    entered(table, int)("second")
    assert table == {int: "second"}
