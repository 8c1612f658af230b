"""Findings that a comment says are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import found_in, written

PROGRAM = """\
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
ds = env.from_collection([1])
ds.print()
ds.map(str){first}
(
    ds{outer}
    .map(repr){inner}
)
env.execute()
"""


@pytest.mark.parametrize(
    ("comments", "lines"),
    [
        ({}, [5, 8]),
        ({"first": "  # millrace: ignore[ML011]"}, [8]),
        ({"first": "  # millrace: ignore[lost-results]"}, [8]),
        ({"first": "  # written elsewhere; millrace: ignore[ML003, ML011]"}, [8]),
        ({"first": "  # millrace: ignore[ML003]"}, [5, 8]),
        ({"first": "  # millrace: ignore"}, [8]),
        ({"inner": "  # millrace: ignore[ML011]"}, [5]),
        ({"outer": "  # millrace: ignore[ML011]"}, [5]),
    ],
)
def test_a_comment_ignores_findings_of_its_statement(
    tmp_path: Path, comments: dict[str, str], lines: list[int]
) -> None:
    text = PROGRAM.format(**{"first": "", "outer": "", "inner": "", **comments})
    assert [each["line"] for each in found_in(written(tmp_path, text))] == lines


def test_a_comment_in_a_block_does_not_ignore_the_whole_block(tmp_path: Path) -> None:
    text = PROGRAM.format(first="", outer="", inner="").replace("\n", "\n    ")
    text = f"def main():\n    {text}\n    pass  # millrace: ignore\n\nmain()\n"
    assert [each["line"] for each in found_in(written(tmp_path, text))] == [6, 9]
