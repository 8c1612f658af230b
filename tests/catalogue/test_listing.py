"""The list of the documents' programs names counterparts that are there and run, and is the page in docs."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.catalogue import streams, tables
from tests.catalogue.listing import DOCUMENTS, PAGE, ROOT, Entry, page
from tests.corpus import corpus

ENTRIES = [entry for entries in DOCUMENTS.values() for entry in entries]


@corpus("entry", ENTRIES, 71)
def test_the_counterpart_is_there(entry: Entry) -> None:
    file, _, name = entry.counterpart.partition("::")
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert not name or name in functions


def test_programs_of_this_folder_are_listed_and_run() -> None:
    listed = {entry.counterpart.partition("::")[2] for entry in ENTRIES if "tests/catalogue/" in entry.counterpart}
    assert listed == {program.__name__ for program in (*streams.EXPECTED, *tables.EXPECTED)}


def test_older_programs_are_listed_and_run() -> None:
    folder = Path("tests/legacy/programs")
    listed = {Path(entry.counterpart).stem for entry in ENTRIES if entry.counterpart.startswith(str(folder))}
    assert listed == {path.stem for path in (ROOT / folder).glob("*.py")}
    text = (ROOT / "tests/legacy/test_programs.py").read_text("utf-8")
    assert all(f'run("{name}"' in text for name in listed)


def test_the_page_is_the_list() -> None:
    assert PAGE.read_text("utf-8") == page()
