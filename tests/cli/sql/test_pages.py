"""Pages of a table that grows."""

from __future__ import annotations

from millrace.cli.sql.full_screen import Pages

ROWS = list(range(10))


def test_the_last_page_stays_the_last() -> None:
    pages = Pages()
    assert pages.shown(ROWS[:4], 4) == [0, 1, 2, 3]
    assert pages.shown(ROWS, 4) == [8, 9]
    assert pages.text == "page 3 of 3"


def test_back_and_forth() -> None:
    pages = Pages()
    pages.shown(ROWS, 4)
    pages.previous()
    assert pages.shown(ROWS, 4) == [4, 5, 6, 7]
    pages.previous()
    pages.previous()
    assert pages.shown(ROWS, 4) == [0, 1, 2, 3]
    assert pages.text == "page 1 of 3"
    pages.next()
    assert pages.shown(ROWS, 4) == [4, 5, 6, 7]
    pages.next()
    assert pages.shown(ROWS, 4) == [8, 9]
    pages.first()
    assert pages.shown(ROWS, 4) == [0, 1, 2, 3]
    pages.last()
    assert pages.shown(ROWS, 4) == [8, 9]


def test_a_page_that_is_gone() -> None:
    pages = Pages()
    pages.shown(ROWS, 2)
    pages.previous()
    assert pages.shown(ROWS[:1], 2) == [0]


def test_nothing_and_no_room() -> None:
    pages = Pages()
    assert pages.shown([], 4) == []
    assert pages.text == "page 1 of 1"
    assert pages.shown(ROWS, -3) == [9]
