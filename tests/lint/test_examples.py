"""Programs that are all right: nothing is found in the examples of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import lint

EXAMPLES = Path(__file__).parents[2] / "examples"
GALLERY = sorted(path for path in (EXAMPLES / "gallery").glob("*.py") if path.stem != "show")


@pytest.mark.parametrize("program", [*GALLERY, EXAMPLES / "word_count_files.py"], ids=lambda path: path.stem)
def test_nothing_is_found(program: Path) -> None:
    result = lint(program)
    assert (result.stdout, result.exit_code) == ("", 0), result.stderr
