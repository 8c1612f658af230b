"""The program that the command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from millrace.cdc import program


def test_a_wrong_file_ends_it(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "p.yaml"
    file.write_text("source: {type: values}\nsink: {type: nosuch}\n")
    with pytest.raises(SystemExit) as end:
        program.main([str(file)])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("p.yaml, line 2: there is no sink of type nosuch; there are kafka")
    assert sys.path[0] == str(tmp_path)
