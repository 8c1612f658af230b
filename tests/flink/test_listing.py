"""docs/differences.md says which answers are not Flink's, and which differ between the modes."""

from __future__ import annotations

from tests.flink.listing import PAGE, written


def test_the_page_has_the_lists() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `python -m tests.flink.listing`"
