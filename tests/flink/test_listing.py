"""docs/differences.md says which answers are not Flink's."""

from __future__ import annotations

from tests.flink.listing import PAGE, page_with, table


def test_the_page_has_the_list() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(table()), "run `python -m tests.flink.listing`"
