"""A stream as a program of its own: nothing of its environment's other sinks, and whether it ends."""

from __future__ import annotations

import pytest
from tests.local_jobs import run_jobs_locally

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.notebook.previews import collected, has_end, table_html
from millrace.table import StreamTableEnvironment


def test_the_others_do_not_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_jobs_locally(monkeypatch)
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2, 3])
    numbers.print()
    keyed = numbers.map(lambda x: 2 * x).key_by(lambda x: x)
    before = env._program
    assert sorted(collected(keyed)) == [2, 4, 6]
    assert capsys.readouterr().out == ""
    assert env._program is before


def test_whether_it_ends_is_asked_of_what_it_reads_alone() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    ending, endless = env.from_collection([1]), env.socket_text_stream("localhost", 1)
    assert has_end(ending) and not has_end(endless)
    endless.print()
    assert has_end(ending.map(str)) and not has_end(ending.map(str, Types.STRING()).union(endless))


def test_a_table_of_an_endless_stream_is_not_read() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    # Nobody listens there: reading would be an error.
    html = table_html(t_env.from_data_stream(env.socket_text_stream("localhost", 1)))
    assert "This has no end" in html
