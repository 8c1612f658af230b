"""The tables of the guide that say what fires when are what the operators do."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import what_fires_when
from scripts.what_fires_when import COMMAND, PAGE, PENDING, TABLES, at_the_end, main, table, with_tables


def rows(name: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table(name).splitlines()[2:]]


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_tables(page), f"run `{COMMAND}` and look at what changed"


def test_a_stale_table_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.read_text("utf-8")
    stale = tmp_path / "page.md"
    stale.write_text(page.replace(table("tumbling"), "| old |\n"), "utf-8")
    monkeypatch.setattr(what_fires_when, "PAGE", stale)
    assert stale.read_text("utf-8") != page
    main([])
    assert stale.read_text("utf-8") == page


def test_all_tables_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--print"])
    printed = capsys.readouterr().out
    assert all(table(name) in printed for name in TABLES)


def test_a_page_without_a_table_is_refused() -> None:
    page = PAGE.read_text("utf-8").replace("<!-- table: tumbling -->", "")
    with pytest.raises(ValueError, match=r"no place for the tables \['tumbling'\]"):
        with_tables(page)


@pytest.mark.parametrize("name", ["tumbling", "tumbling-lateness", "sliding", "session"])
def test_every_element_fires_or_is_late(name: str) -> None:
    """No scene ends with an element that has been forgotten."""
    arrived = {cells[1].split("`")[1] for cells in rows(name) if cells[1].startswith("`")}
    outcomes = [cells[-1] for cells in rows(name) if cells[-1]]
    fired = {word for text in outcomes if "fires" in text for word in text.replace("`", " ").split() if len(word) == 1}
    late = {text.split("`")[1] for text in outcomes if text.endswith("is late")}
    assert fired | late == arrived
    assert not fired & late


def test_windows_fire_at_the_watermark_of_their_last_millisecond() -> None:
    fired = [(cells[2], cells[3]) for cells in rows("tumbling") if "fires" in cells[3]]
    assert fired == [("4999", "fires `[0, 5000): a b d`"), ("MAX", "fires `[5000, 10000): c`")]


def test_the_end_of_input_has_a_row_for_all_that_may_be_pending() -> None:
    assert len(list(at_the_end())) == len(PENDING) + 1
    assert set(TABLES) >= {"end-of-input", "timers", "channels", "generator"}
