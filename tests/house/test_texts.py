"""Texts that tools have damaged are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house.texts import damaged_texts
from scripts.house.tree import read_tree
from tests.house.test_layers import write

DAMAGED = {
    'LIMIT = 3\n"""Of rows."""\n"""Of bytes."""\n': "m:3 stands behind no assignment: 'Of bytes.'",
    'def f():\n    pass\n\n"""Of rows."""\n': "m:4 stands behind no assignment: 'Of rows.'",
    'LIMIT = 3\n\n"""Of rows."""\n': "m:3 stands behind no assignment: 'Of rows.'",
    'def f():\n    """Rows with the old "\n    "one."""\n': "m:2 is damaged",
    '"""PyFlink\\\'s names."""\n': "m:1 is damaged",
}


@pytest.mark.parametrize("text", DAMAGED)
def test_damage_is_found(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"m.py": text})
    (line,) = damaged_texts(read_tree(tmp_path))
    assert DAMAGED[text] in line


def test_notes_of_attributes_are_fine(tmp_path: Path) -> None:
    write(tmp_path, {"m.py": '"""A module."""\nLIMIT = 3\n"""Of "rows" and\n"bytes"."""\n\nclass C:\n    """C."""\n'})
    assert list(damaged_texts(read_tree(tmp_path))) == []
