"""``'connector' = 'socket'``: rows from a server."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.socket_server import server
from tests.local_jobs import run_jobs_locally

from millrace.common.files.file_access import VARIABLE
from millrace.common.types import RowKind
from millrace.connectors import socket_source
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.util.exceptions import TableException


@pytest.fixture(autouse=True)
def locally(monkeypatch: pytest.MonkeyPatch) -> None:
    run_jobs_locally(monkeypatch)


def table(columns: str, streaming: bool = True, **options: object) -> TableEnvironment:
    """An environment with a table t."""
    mode = EnvironmentSettings.in_streaming_mode if streaming else EnvironmentSettings.in_batch_mode
    t_env = TableEnvironment.create(mode())
    t_env.get_config().set("parallelism.default", "2")
    given = {"connector": "socket", "hostname": "127.0.0.1", "port": 9999, "format": "csv"}
    given |= {name.replace("_", "-"): value for name, value in options.items()}
    shown = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ({shown})")
    return t_env


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in t_env.execute_sql(query).collect()]


def test_the_query_of_flinks_documentation() -> None:
    """Its second half, a format of changes, is any that Millrace has; here rows are only added."""
    sent = b"Alice,12\nBob,5\nAlice,18\nBob,8\n"
    with server([[sent[:3], sent[3:]]]) as port:
        t_env = table("name STRING, score INT", port=port, byte_delimiter=10)
        result = t_env.execute_sql("SELECT name, SUM(score) FROM t GROUP BY name").collect()
        last: dict[str, int] = {}
        for name, score in result:
            last[name] = score
    assert last == {"Alice": 30, "Bob": 13}


@pytest.mark.parametrize("delimiter", [10, 0])
def test_a_message_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delimiter: int) -> None:
    """It is never held as a whole."""
    monkeypatch.setenv(VARIABLE, "2000")
    monkeypatch.setattr(socket_source, "RECEIVE_BYTES", 500)
    end = bytes([delimiter])
    sent = end.join([b"1,a", b"2," + b"x" * 9000, b"3,b", b"4," + b"y" * 5000])
    with server([[sent]]) as port:
        folder = tmp_path / "letters"
        t_env = table("n INT, s STRING", port=port, byte_delimiter=delimiter, **{"scan.dead-letter.path": folder})
        assert rows(t_env, "SELECT n, s FROM t") == [(1, "a"), (3, "b")]
    told = [json.loads(line) for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]
    assert sorted((each["message"][:3], each["length"]) for each in told) == [("2,x", 9002), ("4,y", 5002)]
    assert all(len(each["message"]) == 1024 and "larger than 2000 bytes" in each["error"] for each in told)
    with server([[sent]]) as port, pytest.raises(JobFailedError, match="a message is larger than 2000 bytes"):
        rows(table("n INT, s STRING", port=port, byte_delimiter=delimiter), "SELECT n, s FROM t")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), min_size=1)


@given(st.lists(st.tuples(TEXTS, st.integers(-(2**31), 2**31 - 1)), max_size=8), st.integers(1, 40))
def test_messages_however_they_arrive(expected: list[tuple[str, int]], size: int) -> None:
    """Python's own CSV writer is the oracle; between messages is a NUL."""
    messages = []
    for each in expected:
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="").writerow(each)
        messages.append(text.getvalue().encode() + b"\0")
    sent = b"".join(messages)
    with server([[sent[start : start + size] for start in range(0, len(sent), size)]]) as port:
        t_env = table("word STRING, n INT", port=port, byte_delimiter=0)
        assert rows(t_env, "SELECT n, word FROM t") == [(n, word) for word, n in expected]


@pytest.mark.parametrize(("format", "sent", "expected"), [
    ("csv", b"a\n\nb", [("a",), ("b",)]),
    ("raw", b"a\n\nb", [("a",), ("",), ("b",)]),
    ("json", b'{"word": "a"}\n\n{"word": null}\n', [("a",), (None,)]),
])  # fmt: skip
def test_empty_messages_count_where_a_format_has_them(format: str, sent: bytes, expected: Sequence[Any]) -> None:
    with server([[sent]]) as port:
        assert rows(table("word STRING", port=port, format=format), "SELECT word FROM t") == expected


def test_changes() -> None:
    change = {"before": None, "after": {"id": 1, "n": 2}, "op": "c"}
    update = {"before": {"id": 1, "n": 2}, "after": {"id": 1, "n": 5}, "op": "u"}
    sent = "".join(f"{json.dumps(each)}\n" for each in (change, update)).encode()
    with server([[sent]]) as port:
        t_env = table("id INT, n INT", port=port, format="debezium-json")
        found = [(row.get_row_kind(), row[0]) for row in t_env.execute_sql("SELECT n FROM t").collect()]
    assert found == [(RowKind.INSERT, 2), (RowKind.UPDATE_BEFORE, 2), (RowKind.UPDATE_AFTER, 5)]


def test_no_columns_are_as_many_rows() -> None:
    with server([[b"1\n2\n3\n"]]) as port:
        assert rows(table("n INT", port=port), "SELECT COUNT(*) FROM t")[-1] == (3,)


def test_a_malformed_message_fails_the_job() -> None:
    with server([[b"1\nx\n"]]) as port, pytest.raises(JobFailedError, match="'x'"):
        rows(table("n INT", port=port), "SELECT n FROM t")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": "http"}, "'port': "),
        ({"port": 0}, "a port is in 1..65535, not 0"),
        ({"byte_delimiter": 256}, "'byte-delimiter' is the number of a byte, 0 to 255, not '256'"),
        ({"max_retry": -2}, "max_retry is at least 0"),
        ({"format": "cvs"}, "there is no format 'cvs'"),
        ({"csv.nosuch": "true"}, "format 'csv' has no option 'csv.nosuch'"),
        ({"delimiter": ","}, "connector 'socket' has no option 'delimiter'"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(TableException, match=message):
        table("n INT", **options).execute_sql("SELECT n FROM t")


def test_there_is_no_end_so_no_batch_mode_and_no_writing() -> None:
    with pytest.raises(Exception, match="never ends: give its source an end, or use streaming mode"):
        table("n INT", streaming=False).execute_sql("SELECT n FROM t")
    with pytest.raises(Exception, match="connector 'socket' cannot be written to"):
        table("n INT").execute_sql("INSERT INTO t VALUES (1)")
