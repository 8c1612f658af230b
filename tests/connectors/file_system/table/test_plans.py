"""What a table's options make of a streaming program, and what its subtasks tell without rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.table.planner.programs import insert, rows_of

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.tables.exchange import ByColumns
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.planner.plan import ChangelogError
from millrace.table.statement_runners.statements import insert_plans
from millrace.testing.local import run_locally


@pytest.fixture
def environment(tmp_path: Path) -> Any:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    register_values("numbers", [(number, number % 3) for number in range(30)])
    made.execute_sql(
        "CREATE TABLE numbers (id INT, k INT) WITH ('connector' = 'values', 'data-id' = 'numbers', 'batch-size' = '5')"
    )
    yield made
    clear_values()


def files(environment: TableEnvironment, path: Path, *options: str, format: str = "parquet") -> None:
    more = "".join(f", {option}" for option in options)
    environment.execute_sql(
        f"CREATE TABLE files (id BIGINT, k INT) PARTITIONED BY (k) "
        f"WITH ('connector' = 'filesystem', 'format' = '{format}', 'path' = '{path}'{more})"
    )


def sink_node(environment: TableEnvironment, statement: str) -> Any:
    [plan] = insert_plans(statement, environment._session)
    streams = StreamExecutionEnvironment().set_parallelism(2)
    session = environment._session
    add_to_program([optimise_streaming(plan, surroundings_of(session))], streams._program, options_of(session))
    return next(node for node in streams._program.added() if node.name.startswith("Sink"))


@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_of_a_partition_go_to_one_subtask(environment: TableEnvironment, tmp_path: Path, shuffled: bool) -> None:
    files(environment, tmp_path, *(["'sink.shuffle-by-partition.enable' = 'true'"] if shuffled else []))
    [edge] = sink_node(environment, "INSERT INTO files SELECT id, k FROM numbers").edges
    assert edge.partitioner == (ByColumns((1,)) if shuffled else None)
    insert(environment, "INSERT INTO files SELECT id, k FROM numbers")
    parts = {folder.name: len(list(folder.iterdir())) for folder in tmp_path.iterdir()}
    assert parts == dict.fromkeys(["k=0", "k=1", "k=2"], 1 if shuffled else 2)


def test_parallelism(environment: TableEnvironment, tmp_path: Path) -> None:
    files(environment, tmp_path, "'sink.parallelism' = '3'", format="debezium-json")
    assert sink_node(environment, "INSERT INTO files SELECT id, k FROM numbers").parallelism == 3
    with pytest.raises(ChangelogError, match=r"'sink\.parallelism' would let changes of a row overtake each other"):
        sink_node(environment, "INSERT INTO files SELECT COUNT(*), k FROM numbers GROUP BY k")


def test_changes_need_a_format_for_changes(environment: TableEnvironment, tmp_path: Path) -> None:
    files(environment, tmp_path)
    with pytest.raises(ChangelogError, match="takes no updates"):
        sink_node(environment, "INSERT INTO files SELECT COUNT(*), k FROM numbers GROUP BY k")


@pytest.mark.parametrize("format", ["parquet", "orc", "avro", "json", "csv", "debezium-json"])
def test_queries_over_files(environment: TableEnvironment, tmp_path: Path, format: str) -> None:
    files(environment, tmp_path, format=format)
    insert(environment, "INSERT INTO files SELECT id, k FROM numbers WHERE id < 20")
    environment.execute_sql("CREATE TABLE found (k INT, n BIGINT, s BIGINT) WITH ('connector' = 'values')")
    insert(environment, "INSERT INTO found SELECT k, COUNT(*), SUM(id) FROM files WHERE k > 0 AND id > 1 GROUP BY k")
    kept = [(number, number % 3) for number in range(2, 20)]
    assert rows_of("found") == [
        (key, sum(k == key for _, k in kept), sum(number for number, k in kept if k == key)) for key in (1, 2)
    ]


class Reporting(Sink[Any]):
    """Every subtask prepares its number in each epoch."""

    reports_each_epoch = True

    def __init__(self, seen: str) -> None:
        self._seen = seen

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return _Reporter(self._seen, context)


class _Reporter(SinkWriter[Any]):
    def __init__(self, seen: str, context: WriterInitContext) -> None:
        self._seen = seen
        self._context = context

    def write(self, element: Any, context: Any) -> None: ...

    def prepare_commit(self) -> list[Any]:
        with open(self._seen, "a") as file:
            print(self._context.get_index_of_subtask(), self._context.current_watermark() == 2**63 - 1, file=file)
        return []


def test_subtasks_without_elements_report(tmp_path: Path) -> None:
    streams = StreamExecutionEnvironment().set_parallelism(3)
    streams.from_collection([1]).sink_to(Reporting(str(tmp_path / "seen")))
    run_locally(streams)
    assert {"0 True", "1 True", "2 True"} <= set((tmp_path / "seen").read_text().splitlines())
