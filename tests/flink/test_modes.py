"""What one query gives in streaming and in batch mode is the same, but for what is listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from tests.flink import corpus
from tests.flink.asking import (
    ASKED_OF_SPARK,
    Asked,
    answers,
    ask,
    batch_answer,
    same,
    sorted_rows,
    streamed_together,
    table_of,
)
from tests.flink.known import MODES
from tests.rings import taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOTH = taken((query.sql for query in corpus.queries() if len(query.modes) == 2), ASKED_OF_SPARK)
SIZE = 24
"""queries of one streaming job at most"""
AT_ONCE = 5
"""records of an epoch: only the end is looked at"""


def differences(texts: Sequence[str], spark: SparkSession) -> dict[str, str]:
    """What is not the same in both modes, by query."""
    asked: dict[str, Asked] = {}
    streams: dict[str, Any] = {}
    for sql in texts:
        try:
            asked[sql] = ask(corpus.STREAMING, sql, AT_ONCE)
        except Exception as error:
            streams[sql] = error
    if asked:
        streams.update(zip(asked, streamed_together(list(asked.values()))))
    return {sql: _difference(sql, streams[sql], spark) for sql in texts}


def _difference(sql: str, stream: Any, spark: SparkSession) -> str:
    batch = batch_answer(sql, spark)
    if isinstance(stream, Exception):
        return "" if refused(sql) and isinstance(batch, Exception) else f"streaming mode fails: {stream}"
    if isinstance(batch, Exception):
        return f"batch mode fails: {batch}"
    ours, theirs = table_of(stream), sorted_rows(batch.rows)
    alike = same(ours, theirs, any("FLOAT" in kind for kind in batch.types))
    return "" if alike else f"streaming {ours}\nbatch     {theirs}"


def refused(sql: str) -> bool:
    """Whether Flink takes it in neither mode."""
    answer = answers("queries")[sql]
    return all("fails" in answer[mode] for mode in (corpus.BATCH, corpus.STREAMING))


@pytest.mark.spark
@pytest.mark.parametrize("start", range(0, len(BOTH), SIZE))
def test_both_modes_give_one_table(start: int, spark: SparkSession) -> None:
    told = differences(BOTH[start : start + SIZE], spark)
    wrong = [
        f"{sql}\n{text or 'gives the same in both modes: take it out of the list of known differences'}"
        for sql, text in told.items()
        if bool(text) != (sql in MODES)
    ]
    assert not wrong, "\n".join(wrong)


def test_known_differences_are_in_the_corpus() -> None:
    assert set(MODES) <= {query.sql for query in corpus.queries()}
