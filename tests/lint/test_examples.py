"""Programs that are all right: nothing is found in the examples of this repository, nor in those of PyFlink.

The latter are not ours and not here: MILLRACE_PYFLINK_EXAMPLES names the folder ``pyflink/examples`` of an installed
apache-flink.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.lint.linting import lint

EXAMPLES = Path(__file__).parents[2] / "examples"
OF_PYFLINK = os.environ.get("MILLRACE_PYFLINK_EXAMPLES")
GALLERY = sorted(path for path in (EXAMPLES / "gallery").glob("*.py") if path.stem != "show")


@pytest.mark.parametrize("program", [*GALLERY, EXAMPLES / "word_count_files.py"], ids=lambda path: path.stem)
def test_nothing_is_found(program: Path) -> None:
    result = lint(program)
    assert (result.stdout, result.exit_code) == ("", 0), result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    sorted(Path(OF_PYFLINK).rglob("*.py"))
    if OF_PYFLINK
    else [pytest.param(None, marks=pytest.mark.skip("MILLRACE_PYFLINK_EXAMPLES names no folder"))],
    ids=lambda path: "" if path is None else path.stem,
)
def test_nothing_is_found_in_programs_of_pyflink(program: Path) -> None:
    result = lint(program, "--pyflink")
    # 2: it can't be read, for what it imports is not there.
    assert (result.stdout, result.exit_code in (0, 2)) == ("", True), result.stderr
