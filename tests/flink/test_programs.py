"""DataStream programs give the elements that they give on Flink."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.flink import corpus
from tests.flink.asking import answers, same, sorted_rows
from tests.flink.known import PROGRAMS
from tests.flink.plain import plain_python
from tests.local_jobs import run_jobs_locally

import millrace
from millrace.datastream import StreamExecutionEnvironment


@cache
def names() -> list[str]:
    """Programs by what their files say: to import them takes ``pyflink``."""
    found = []
    for file in sorted((Path(corpus.HERE) / "programs").glob("[!_]*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and [each.arg for each in node.args.args] == ["env"]:
                found += [] if node.name.startswith("_") else [node.name]
    return found


@pytest.fixture
def pyflink(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    run_jobs_locally(monkeypatch)
    millrace.activate()
    yield
    millrace.deactivate()


def difference(name: str) -> str:
    wanted = answers("programs").get(name)
    assert wanted is not None, f"Flink never ran {name}: run `make flink RECORD=1`"
    assert wanted["text"] == corpus.program_text(name), f"{name} has changed since: run `make flink RECORD=1`"
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    try:
        elements = [plain_python(element) for element in corpus.stream_programs()[name](env).execute_and_collect()]
    except Exception as error:
        return "" if "fails" in wanted else f"fails: {error}"
    if "fails" in wanted:
        return f"gives {elements}, with Flink it fails"
    if not same(sorted_rows(elements), sorted_rows(wanted["elements"])):
        return f"gives {elements}, Flink {wanted['elements']}"
    return ""


@pytest.mark.usefixtures("pyflink")
@pytest.mark.parametrize("name", names())
def test_elements(name: str) -> None:
    told = difference(name)
    if name in PROGRAMS:
        assert told, f"{name} is as on Flink: take it out of the list of known differences"
    else:
        assert not told, f"{name} {told}"


def test_known_differences_are_in_the_corpus() -> None:
    assert set(PROGRAMS) <= set(names())
