"""docs/sql/ is what its scripts write, and leaves nothing out that the code knows."""

from __future__ import annotations

from typing import get_args

import pytest
from scripts.reference.connectors import meanings
from scripts.reference.connectors.page import undescribed
from scripts.reference.statements import ENTRIES
from scripts.reference.statements.hints import ENTRIES as HINTS
from scripts.sql_reference import COMMAND, FOLDER, PAGES, text_of

from millrace.connectors.file_system.table.line_formats import CSV_HEADER
from millrace.formats.tables.format_options import format_factory, format_names
from millrace.relational.sources import NULL_TIMES
from millrace.table.sessions.table_info import Connectors
from millrace.table.sql import statements as s
from millrace.table.sql.binding.from_clause import _KEYED, _NAMED
from millrace.table.sql.grammar.parser import parse_script

_REFUSED = {s.CreateMaterializedTable, s.Suspend, s.Resume, s.Refresh}
"""of materialized tables, which are not there"""


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == text_of(name), f"run `{COMMAND}` and look at what changed"


def test_there_are_no_other_pages() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_every_statement_has_an_example() -> None:
    shown = [statement for entry in ENTRIES for statement in parse_script(entry.example)]
    kinds = {type(statement) for statement in shown}
    kinds |= {type(statement.change) for statement in shown if isinstance(statement, s.Alter)}
    assert {*s.Statement.__subclasses__(), *get_args(s.Change)} - kinds == _REFUSED


def test_every_hint_has_an_example() -> None:
    assert {entry.title for entry in HINTS} == {*_KEYED, *_NAMED, "OPTIONS"}


def test_every_connector_and_format_has_a_section() -> None:
    assert not undescribed()


def test_only_options_that_are_there_are_described() -> None:
    factories = [Connectors()._factory(name) for name in Connectors().names()]
    formats = [format_factory(name, "") for name in format_names()]
    declared = {option for each in (*factories, *formats) if each for option in (*each.required, *each.optional)}
    declared |= {f"@call {option.partition('lookup.')[2]}" for option in declared if "source.lookup." in option}
    declared |= {f"@call {option.partition('http.sink.')[2]}" for option in declared if option.startswith("http.sink.")}
    declared |= {NULL_TIMES, CSV_HEADER.removeprefix("csv.")}  # of all connectors, of files
    described = {f"{who} {option}" if who == "@call" else option for who, option in meanings._known()}
    assert described - declared == set()
