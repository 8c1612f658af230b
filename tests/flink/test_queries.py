"""Queries give what Flink gives: the rows in both modes, and in streaming mode a changelog with the same tables on the
way. What one query gives in both modes is the same, but for what is listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from tests.flink import corpus
from tests.flink.asking import (
    ASKED_OF_SPARK,
    Asked,
    Change,
    answers,
    ask,
    batch_answer,
    epochs_together,
    same,
    sorted_rows,
    streamed_together,
    table_of,
)
from tests.flink.known import BATCH_QUERIES, MODES, QUERIES
from tests.rings import taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY_LIST = corpus.queries()
STREAMED = [query.sql for query in QUERY_LIST if corpus.STREAMING in query.modes]
STREAM_DRAW = taken(STREAMED, 2)
BATCHED = [query.sql for query in QUERY_LIST if corpus.BATCH in query.modes]
BATCH_DRAW = taken(BATCHED, ASKED_OF_SPARK)
SIZE = 24
"""queries of one job, or one test, at most"""
AT_ONCE = 5
"""records of an epoch where only the end is looked at"""
TABLES = ("users", "orders", "clicks", "changing", "rates", "numbers", "nothing", "ticks", "acts", "FROM t")


def answer_of(sql: str, mode: str) -> dict[str, Any]:
    found = answers("queries").get(sql)
    assert found is not None, f"Flink was never asked {sql}: run `make flink RECORD=1`"
    answer: dict[str, Any] = found[mode]
    return answer


def in_order(sql: str) -> bool:
    return "ORDER BY" in sql.rsplit(")", 1)[-1]


def batch_difference(sql: str, spark: SparkSession) -> str:
    wanted = answer_of(sql, corpus.BATCH)
    found = batch_answer(sql, spark)
    if isinstance(found, Exception):
        return "" if "fails" in wanted else f"fails: {found}"
    rows = found.rows
    if "fails" in wanted:
        return f"gives {rows}, with Flink it fails ({wanted['fails']})"
    theirs = [row for _, row in wanted["changes"]]
    if not in_order(sql):
        rows, theirs = sorted_rows(rows), sorted_rows(theirs)
    return _rows_difference(rows, theirs, found.types, wanted["types"])


def _rows_difference(ours: list[Any], theirs: list[Any], our_types: list[str], their_types: list[str]) -> str:
    # Flink marks time attributes where it shows types.
    their_types = [kind.removesuffix(" *ROWTIME*") for kind in their_types]
    if our_types != their_types:
        return f"has types {our_types}, with Flink {their_types}"
    if not same(ours, theirs, _is_single(their_types)):
        return f"gives\n{ours}\nFlink\n{theirs}"
    return ""


def _is_single(types: Sequence[str]) -> bool:
    return any("FLOAT" in kind for kind in types)


def streaming_differences(texts: Sequence[str]) -> dict[str, str]:
    """What is not as with Flink, by query: those that it answers are asked together."""
    asked: dict[str, Asked] = {}
    told: dict[str, str] = {}
    for sql in texts:
        try:
            asked[sql] = ask(corpus.STREAMING, sql, 1 if _on_the_way(sql) else AT_ONCE)
        except Exception as error:
            told[sql] = _refused(sql, error)
    answered = [sql for sql in asked if "fails" not in answer_of(sql, corpus.STREAMING)]
    for on_the_way in (True, False):
        group = [sql for sql in answered if _on_the_way(sql) == on_the_way]
        for sql, epochs in zip(group, _epochs([asked[sql] for sql in group]) if group else ()):
            told[sql] = _refused(sql, epochs) if isinstance(epochs, Exception) else _told(sql, asked[sql], epochs)
    for sql in asked.keys() - told.keys():
        ((epochs),) = _epochs([asked[sql]])
        told[sql] = "" if isinstance(epochs, Exception) else f"gives {epochs}, with Flink it fails"
    return told


def _refused(sql: str, error: Exception) -> str:
    fails = "fails" in answer_of(sql, corpus.STREAMING)
    return "" if fails else f"fails: {type(error).__name__}: {error}"


def _epochs(asked: Sequence[Asked]) -> list[list[list[Change]] | Exception]:
    """The epochs of each query; of one that fails why it does."""
    try:
        return list(epochs_together(asked))
    except Exception as error:
        if len(asked) == 1:
            return [error]
        middle = len(asked) // 2
        return [*_epochs(asked[:middle]), *_epochs(asked[middle:])]


def _on_the_way(sql: str) -> bool:
    """Whether the tables on the way are compared, too."""
    wanted = answer_of(sql, corpus.STREAMING)
    return "fails" not in wanted and one_source(sql) and not by_key(wanted["changes"])


def _told(sql: str, asked: Asked, epochs: list[list[Change]]) -> str:
    wanted = answer_of(sql, corpus.STREAMING)
    ours = table_of([change for epoch in epochs for change in epoch])
    if by_key(wanted["changes"]):
        theirs = sorted_rows([row for _, row in answer_of(sql, corpus.BATCH)["changes"]])
        return _rows_difference(ours, theirs, asked.types, wanted["types"])
    told = _rows_difference(ours, table_of(wanted["changes"]), asked.types, wanted["types"])
    return told or ("" if not _on_the_way(sql) else _way_difference(epochs, wanted["changes"], wanted["types"]))


def by_key(changes: list[Any]) -> bool:
    """Whether Flink's changelog leaves out the rows that are replaced; which ones those are, it does not say."""
    kinds = [kind for kind, _ in changes]
    return "+U" in kinds and "-U" not in kinds


def one_source(sql: str) -> bool:
    """Whether the order of all input is known: then every table on the way must be one that Flink has, too."""
    return sum(sql.count(name) for name in TABLES) == 1 and "TABLE(" not in sql and "UNNEST(" not in sql


def _way_difference(epochs: list[list[Change]], theirs: list[Any], types: list[str]) -> str:
    """Where the tables after our epochs are not, in order, among the tables after Flink's changes."""
    single = _is_single(types)
    states = [[]] + [table_of(theirs[: at + 1]) for at in range(len(theirs))]
    at, ours = 0, []
    for number, epoch in enumerate(epochs):
        ours += epoch
        table = table_of(ours)
        while at < len(states) and not same(table, states[at], single):
            at += 1
        if at == len(states):
            return f"has {table} after record {number}, Flink never"
    return ""


@pytest.mark.parametrize("start", range(0, len(STREAM_DRAW), SIZE))
def test_in_streaming(start: int) -> None:
    told = streaming_differences(STREAM_DRAW[start : start + SIZE])
    wrong = [
        f"{sql} {text or 'is as Flink has it: take it out of the list of known differences'}"
        for sql, text in told.items()
        if bool(text) != (sql in QUERIES)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
@pytest.mark.parametrize("start", range(0, len(BATCH_DRAW), SIZE))
def test_in_batch(start: int, spark: SparkSession) -> None:
    told = {sql: batch_difference(sql, spark) for sql in BATCH_DRAW[start : start + SIZE]}
    wrong = [
        f"{sql}\n{text or 'is as Flink has it: take it out of the list of known differences'}"
        for sql, text in told.items()
        if bool(text) != (sql in BATCH_QUERIES)
    ]
    assert not wrong, "\n".join(wrong)


def both_are_as_with_flink(sql: str) -> bool:
    """Whether both modes give one table since each gives what Flink does, which the tests above show, and that is one
    table, or none."""
    if sql in MODES or sql in QUERIES or sql in BATCH_QUERIES:
        return False
    stream, batch = answer_of(sql, corpus.STREAMING), answer_of(sql, corpus.BATCH)
    if "fails" in stream or "fails" in batch:
        return "fails" in stream and "fails" in batch
    theirs = sorted_rows([row for _, row in batch["changes"]])
    return not by_key(stream["changes"]) and same(table_of(stream["changes"]), theirs, _is_single(batch["types"]))


def mode_differences(texts: Sequence[str], spark: SparkSession) -> dict[str, str]:
    """What is not the same in both modes, by query."""
    asked: dict[str, Asked] = {}
    streams: dict[str, list[Change] | Exception] = {}
    for sql in texts:
        try:
            asked[sql] = ask(corpus.STREAMING, sql, AT_ONCE)
        except Exception as error:
            streams[sql] = error
    if asked:
        streams.update(zip(asked, streamed_together(list(asked.values()))))
    return {sql: _mode_difference(sql, streams[sql], spark) for sql in texts}


def _mode_difference(sql: str, stream: list[Change] | Exception, spark: SparkSession) -> str:
    batch = batch_answer(sql, spark)
    if isinstance(stream, Exception):
        return "" if refused(sql) and isinstance(batch, Exception) else f"streaming mode fails: {stream}"
    if isinstance(batch, Exception):
        return f"batch mode fails: {batch}"
    ours, theirs = table_of(stream), sorted_rows(batch.rows)
    return "" if same(ours, theirs, _is_single(batch.types)) else f"streaming {ours}\nbatch     {theirs}"


def refused(sql: str) -> bool:
    """Whether Flink takes it in neither mode."""
    return all("fails" in answer_of(sql, mode) for mode in (corpus.BATCH, corpus.STREAMING))


@pytest.mark.spark
def test_both_modes_give_one_table(spark: SparkSession) -> None:
    """In the same file as ``test_in_batch``: Spark is asked a query once."""
    others = [sql for sql in BATCH_DRAW if sql in STREAMED and not both_are_as_with_flink(sql)]
    wrong = [
        f"{sql}\n{text or 'gives the same in both modes: take it out of the list of known differences'}"
        for sql, text in mode_differences(others, spark).items()
        if bool(text) != (sql in MODES)
    ]
    assert not wrong, "\n".join(wrong)


def test_known_differences_are_in_the_corpus() -> None:
    assert {*QUERIES, *BATCH_QUERIES, *MODES} <= {query.sql for query in QUERY_LIST}
