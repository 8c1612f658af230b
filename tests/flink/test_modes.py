"""What one query gives in streaming and in batch mode is the same, but for what is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flink import corpus
from tests.flink.asking import answers, ask, batched, same, sorted_rows, streamed, table_of
from tests.flink.known import MODES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOTH = [query.sql for query in corpus.queries() if len(query.modes) == 2]


def difference(sql: str, spark: SparkSession) -> str:
    try:
        stream = table_of(streamed(ask(corpus.STREAMING, sql)))
    except Exception as error:
        return "" if refused(sql) and fails_in_batch(sql, spark) else f"streaming mode fails: {error}"
    try:
        asked = ask(corpus.BATCH, sql)
        batch = sorted_rows(batched(asked, spark))
    except Exception as error:
        return f"batch mode fails: {error}"
    alike = same(stream, batch, any("FLOAT" in kind for kind in asked.types))
    return "" if alike else f"streaming {stream}\nbatch     {batch}"


def refused(sql: str) -> bool:
    """Whether Flink takes it in neither mode."""
    answer = answers("queries")[sql]
    return all("fails" in answer[mode] for mode in (corpus.BATCH, corpus.STREAMING))


def fails_in_batch(sql: str, spark: SparkSession) -> bool:
    try:
        batched(ask(corpus.BATCH, sql), spark)
    except Exception:
        return True
    return False


@pytest.mark.spark
@pytest.mark.draw(3)
@pytest.mark.parametrize("sql", BOTH)
def test_both_modes_give_one_table(sql: str, spark: SparkSession) -> None:
    told = difference(sql, spark)
    if sql in MODES:
        assert told, f"{sql} gives the same in both modes: take it out of the list of known differences"
    else:
        assert not told, f"{sql}\n{told}"


def test_known_differences_are_in_the_corpus() -> None:
    assert set(MODES) <= {query.sql for query in corpus.queries()}
