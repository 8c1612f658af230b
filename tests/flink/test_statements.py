"""Statements do what Flink's do: they run, are refused, or show the same rows. No job is started here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.flink import corpus
from tests.flink.asking import answers, new_environment
from tests.flink.known import STATEMENTS
from tests.flink.plain import plain_python

from millrace.table.sessions.table_result import TableResult, listing

SCRIPTS = corpus.scripts()
EACH = 10
"""one of so many is run every time, all of them by `make flink`"""
PARAMETERS = [pytest.param(each, marks=[pytest.mark.slow] if at % EACH else []) for at, each in enumerate(SCRIPTS)]


class NoJobs:
    """An engine whose jobs read and write nothing. Whether they are planned well is asked of queries."""

    def execute(self, plans: Sequence[Any], session: Any, job_name: str | None = None) -> TableResult:
        return listing((), [])

    def explain(self, plans: Sequence[Any], session: Any, details: Sequence[Any]) -> dict[str, str]:
        return {}


def answer(script: str, mode: str, folder: str) -> dict[str, Any]:
    tables = new_environment(mode)
    tables._session._engine_of = lambda streaming: NoJobs()
    *before, last = corpus.statements_of(script, folder)
    try:
        for statement in before:
            tables.execute_sql(statement)
        result = tables.execute_sql(last)
    except Exception as error:
        return {"fails": str(error)}
    if not last.startswith(corpus.WITH_ROWS) or last.startswith("SELECT"):
        return {}
    columns = result.get_table_schema().get_field_names()
    return {"columns": columns, "rows": [plain_python(row) for row in result.collect()]}


def difference(script: str, mode: str, folder: str) -> str:
    found = answers("statements").get(script)
    assert found is not None, f"Flink was never asked {script}: run `make flink RECORD=1`"
    wanted, ours = found[mode], answer(script, mode, folder)
    if "fails" in wanted or "fails" in ours:
        if ("fails" in wanted) == ("fails" in ours):
            return ""
        return f"{mode}: Flink says {wanted}, here {ours}"
    shown = {key: plain_names(each) for key, each in wanted.items()} if "rows" in ours else {}
    return "" if shown == {key: plain_names(each) for key, each in ours.items()} else f"{mode}: {shown} is {ours}"


def plain_names(value: Any) -> Any:
    """Rows in any order; NULL and an empty text are one, as many columns as have something in them."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return sorted((trimmed(row) for row in value), key=repr)
    return value


def trimmed(row: list[Any]) -> list[Any]:
    kept = ["" if each is None else each for each in row]
    while kept and kept[-1] == "":
        kept.pop()
    return kept


def modes_of(script: str) -> list[str]:
    """Batch mode, in which more is possible, and streaming mode where Flink does something else there."""
    found = answers("statements").get(script, {})
    same = found.get(corpus.BATCH) == found.get(corpus.STREAMING)
    return [corpus.BATCH] if same else [corpus.BATCH, corpus.STREAMING]


@pytest.mark.parametrize("script", PARAMETERS)
def test_it_does_what_flink_does(script: str, tmp_path: Any) -> None:
    told = "\n".join(filter(None, (difference(script, mode, str(tmp_path / mode)) for mode in modes_of(script))))
    if script in STATEMENTS:
        assert told, f"{script} is as Flink's: take it out of the list of known differences"
    else:
        assert not told, f"{script}\n{told}"


def test_known_differences_are_in_the_corpus() -> None:
    assert set(STATEMENTS) <= set(SCRIPTS)
