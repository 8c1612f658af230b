"""What counts as changing a variable outside of a function, and what is a cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import found_in, written

PROGRAM = """\
from collections import Counter
from millrace.datastream import StreamExecutionEnvironment
COUNT, MODEL, SEEN, CACHE, RESULTS = 0, None, set(), {{}}, {{}}
def f(value):
    global COUNT, MODEL
    {body}
    return value
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(f).print()
env.execute()
"""


@pytest.mark.parametrize("body", ["COUNT += 1", "SEEN.add(value)", "RESULTS[value] = 1", "RESULTS[value] += 1"])
def test_what_is_counted_or_collected(tmp_path: Path, body: str) -> None:
    assert [(each["line"], each["code"]) for each in found_in(written(tmp_path, PROGRAM.format(body=body)))] == [
        (6, "ML012")
    ]


@pytest.mark.parametrize(
    "body",
    [
        "MODEL = MODEL or object()",
        "CACHE[value] = CACHE.get(value) or str(value)",
        "SEEN = set(); SEEN.add(value)",
        "value = [*SEEN, CACHE]",
        "CACHE.get(value)",
    ],
)
def test_caches_and_local_variables(tmp_path: Path, body: str) -> None:
    assert found_in(written(tmp_path, PROGRAM.format(body=body))) == []
