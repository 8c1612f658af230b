"""A notebook that is run: what its cells show, and that an interrupted cell leaves no job behind."""

from __future__ import annotations

from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

BEGIN = """
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, TableEnvironment
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
%load_ext millrace.notebook
"""
QUERY = """%%sql
CREATE TABLE numbers (a INT) WITH (
    'connector' = 'datagen', 'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '50');
CREATE TABLE endless (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');
SELECT a / 10 AS tens, COUNT(*) AS n FROM numbers GROUP BY a / 10
"""
STREAM = """
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
twice = env.from_collection([1, 2, 3]).map(lambda x: 2 * x)
twice.print()
twice
"""
RUNNING = """
import re, threading
[each.name for each in threading.enumerate() if re.fullmatch("millrace-[0-9a-f]{8}", each.name)]
"""


class Notebook:
    """Runs cells one by one in one kernel."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.nb = client.nb

    def __call__(self, source: str, interrupted_after: int | None = None) -> list[Any]:
        self.nb.cells.append(nbformat.v4.new_code_cell(source))
        # The kernel interrupts a cell that takes longer, as its button does.
        self._client.timeout = interrupted_after or 120
        self._client.interrupt_on_timeout = interrupted_after is not None
        cell = self._client.execute_cell(self.nb.cells[-1], len(self.nb.cells) - 1)
        return list(cell.outputs)


def html(outputs: list[Any]) -> str:
    return "\n".join(each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {}))


def test_a_session() -> None:
    client = nbclient.NotebookClient(nbformat.v4.new_notebook(), allow_errors=True)
    with client.setup_kernel():
        run = Notebook(client)
        assert run(BEGIN) == []
        shown = html(run(QUERY))
        assert all(f"<tr><td>{tens}</td><td>{n}</td></tr>" in shown for tens, n in [(0, 9), (1, 10), (4, 10), (5, 1)])
        assert "<small>6 rows.</small>" in shown and "<svg " in shown
        # An error of SQL is its text, without the lines of Python.
        (told,) = run("%%sql\nSELECT b FROM numbers")
        assert told["text"].startswith("UsageError: unknown column 'b'")
        stream = run(STREAM)
        assert all(f"<tr><td>{each}</td></tr>" in html(stream) for each in (2, 4, 6))
        assert not [each for each in stream if each.output_type == "stream"], "the stream's print() ran"
        done = run("result = env.execute('doubled')")
        assert "doubled FINISHED: 3 records" in html(done)
        assert sorted("".join(each.get("text", "") for each in done).split()) == ["2", "4", "6"]
        assert "This has no end" in html(run("t_env.from_path('endless')"))
        # What runs is interrupted, in each way of waiting for it.
        live = run("t_env.from_path('endless').live(rows=3)", interrupted_after=2)
        assert "changes received, interrupted" in html(live) and html(live).count("<tr><td>") == 3
        rows = run("for row in t_env.from_path('endless').execute().collect(): pass", interrupted_after=2)
        assert "KeyboardInterrupt" in str(rows)
        (left,) = run(RUNNING)
        assert left["data"]["text/plain"] == "[]"
