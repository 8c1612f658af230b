"""Asks Flink the corpus and writes its answers. Runs in an environment that has apache-flink (`make flink`).

    python tests/flink/ask_flink.py                                # are the answers still those that are kept?
    python tests/flink/ask_flink.py --record --only expressions    # keep them
    python tests/flink/ask_flink.py --record --only queries --with MATCH_RECOGNIZE    # those with this text alone
    python tests/flink/ask_flink.py --record --only queries statements --new    # those that were never asked

An answer holds the text that was asked, types, rows and kinds of change. What Flink refuses is told apart by when:
"plan" before anything runs, "run" afterwards; of MATCH_RECOGNIZE also by the first words of what it says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
# Flink compiles classes for every query and keeps them.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:CompressedClassSpaceSize=3g -XX:TieredStopAtLevel=1")

from plain import plain_python, plain_time
from py4j.protocol import Py4JJavaError
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.version import __version__

import corpus

ANSWERS = Path(__file__).with_name("answers")
TOLD = 160
"""characters of a message that are kept"""
GROUP = 25
"""expressions that are computed in one job"""
TIMES = ("LocalDate", "LocalTime", "LocalDateTime", "Instant")


@cache
def cluster_address() -> tuple[str, int]:
    """Host and port of a cluster in this process: without it each job starts one of its own, which takes longer than
    the job."""
    runtime = get_gateway().jvm.org.apache.flink.runtime.minicluster
    configuration = Configuration()
    configuration.set_string("rest.bind-address", "localhost")
    configuration.set_string("rest.bind-port", "0")
    builder = getattr(runtime, "MiniClusterConfiguration$Builder")()
    builder.setConfiguration(configuration._j_configuration).setNumTaskManagers(1).setNumSlotsPerTaskManager(8)
    cluster = runtime.MiniCluster(builder.build())
    cluster.start()
    address = cluster.getRestAddress().get()
    return address.getHost(), address.getPort()


def environment(mode: str) -> TableEnvironment:
    host, port = cluster_address()
    where = Configuration()
    where.set_string("execution.target", "remote")
    where.set_string("rest.address", host)
    where.set_string("rest.port", str(port))
    builder = EnvironmentSettings.new_instance().with_configuration(where)
    streaming = mode == corpus.STREAMING
    made = TableEnvironment.create((builder.in_streaming_mode() if streaming else builder.in_batch_mode()).build())
    config = made.get_config()
    config.set_local_timezone(corpus.ZONE)
    config.set("parallelism.default", "1")
    for statement in corpus.create_statements():
        made.execute_sql(statement)
    return made


def plain_java(value: Any) -> Any:
    """A value of Flink's Java API in the form that answers are kept in."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, bytearray, Decimal)):
        return plain_python(value)
    if get_gateway().jvm.java.lang.Class.forName("java.util.Map").isInstance(value):
        pairs = [[plain_java(key), plain_java(value.get(key))] for key in in_array(value.keySet().toArray())]
        return sorted(pairs, key=json.dumps)
    if value.getClass().getName() == "org.apache.flink.types.Row":
        return [plain_java(value.getField(at)) for at in range(value.getArity())]
    if value.getClass().isArray():
        return [plain_java(each) for each in in_array(value)]
    name = value.getClass().getSimpleName()
    if name in TIMES:
        return plain_time(value.toString())
    if name == "Duration":
        return value.toMillis()
    if name == "Period":
        return value.toTotalMonths()
    return value.toString()


def in_array(array: Any) -> list[Any]:
    """The elements of a Java array, also of one of primitive values."""
    reflect = get_gateway().jvm.java.lang.reflect.Array
    return [reflect.get(array, at) for at in range(reflect.getLength(array))]


class FailedWhileRunning(Exception):
    """A job that Flink has begun failed."""


def types_of(table: Any) -> list[str]:
    columns = table._j_table.getResolvedSchema().getColumnDataTypes()
    return [column.getLogicalType().asSummaryString() for column in columns]


def changes_of(table: Any) -> list[list[Any]]:
    """[kind, row] in the order of the changelog."""
    return rows_of(table._j_table.execute())


def rows_of(result: Any) -> list[list[Any]]:
    iterator = result.collect()
    found = []
    while iterator.hasNext():
        try:
            row = iterator.next()
        except StopIteration as error:
            # What py4j makes of every failure of a Java iterator.
            raise FailedWhileRunning from error
        found.append([row.getKind().shortString(), plain_java(row)])
    iterator.close()
    return found


# -- the four parts ---------------------------------------------------------------------------------------------------


def ask_expressions() -> list[dict[str, Any]]:
    tables = environment(corpus.BATCH)
    answers: dict[str, dict[str, Any]] = {}

    def ask(group: list[str]) -> None:
        query = "SELECT " + ", ".join(f"{text} AS c{at}" for at, text in enumerate(group)) + " FROM t"
        try:
            table = tables.sql_query(query)
            types = types_of(table)
            rows = [row for _, row in changes_of(table)]
        except Exception as error:
            if not isinstance(error, (Py4JJavaError, FailedWhileRunning)) and type(error).__name__ not in REFUSALS:
                raise
            if len(group) == 1:
                answers[group[0]] = {"text": group[0], "fails": stage_of(tables, group[0])}
                return
            ask(group[: len(group) // 2])
            ask(group[len(group) // 2 :])
            return
        for at, text in enumerate(group):
            answers[text] = {"text": text, "type": types[at], "values": [row[at] for row in rows]}

    asked = corpus.expressions()
    good = []
    for text in asked:
        if stage_of(tables, text) == "plan":
            answers[text] = {"text": text, "fails": "plan"}
        else:
            good.append(text)
    for at in range(0, len(good), GROUP):
        ask(good[at : at + GROUP])
        print(f"{at + GROUP} of {len(good)} expressions", flush=True)
    return [answers[text] for text in asked]


REFUSALS = ("TableException", "ValidationException", "ParseException", "CatalogException", "IllegalArgumentException")


def stage_of(tables: TableEnvironment, text: str) -> str:
    """Whether an expression that fails is refused before it runs."""
    try:
        tables.sql_query(f"SELECT {text} AS c FROM t")
    except Exception:
        return "plan"
    return "run"


def ask_queries(having: str = "", known: Collection[str] = ()) -> list[dict[str, Any]]:
    answers = []
    environments = {mode: environment(mode) for mode in (corpus.BATCH, corpus.STREAMING)}
    asked = [query for query in corpus.queries() if having in query.sql and query.sql not in known]
    for at, query in enumerate(asked):
        answer: dict[str, Any] = {"text": query.sql}
        for mode in query.modes:
            try:
                table = environments[mode].sql_query(query.sql)
            except Exception as error:
                answer[mode] = {"fails": "plan", **told(query.sql, error)}
                continue
            try:
                answer[mode] = {"types": types_of(table), "changes": changes_of(table)}
            except Exception as error:
                answer[mode] = {"fails": "run", **told(query.sql, error)}
        answers.append(answer)
        if at % 25 == 0:
            print(f"{at} queries", flush=True)
    return answers


def told(sql: str, error: Exception) -> dict[str, str]:
    """What Flink says of a pattern that it refuses: the innermost message's first line."""
    if "MATCH_RECOGNIZE" not in sql:
        return {}
    return {"told": innermost(error.__cause__ if isinstance(error, FailedWhileRunning) else error)}


def ask_errors() -> list[dict[str, Any]]:
    answers = []
    for statement in corpus.errors():
        answer: dict[str, Any] = {"text": statement}
        for mode in (corpus.BATCH, corpus.STREAMING):
            tables = environment(mode)
            try:
                if statement.startswith("SELECT"):
                    table = tables.sql_query(statement)
                else:
                    tables.execute_sql(statement)
            except Exception:
                answer[mode] = "plan"
                continue
            try:
                if statement.startswith("SELECT"):
                    changes_of(table)
                answer[mode] = None
            except Exception:
                answer[mode] = "run"
        answers.append(answer)
    return answers


def ask_statements(known: Collection[str] = ()) -> list[dict[str, Any]]:
    """What the last statement of each line does: its rows, that it runs, or when it fails and what Flink says."""
    answers = []
    for script in corpus.scripts():
        if script in known:
            continue
        answer: dict[str, Any] = {"text": script}
        for mode in (corpus.BATCH, corpus.STREAMING):
            with tempfile.TemporaryDirectory() as folder:
                answer[mode] = answer_of_script(environment(mode), corpus.statements_of(script, folder))
        answers.append(answer)
        print(script, flush=True)
    return answers


def answer_of_script(tables: TableEnvironment, statements: list[str]) -> dict[str, Any]:
    *before, last = statements
    try:
        for statement in before:
            tables.execute_sql(statement)
    except Exception as error:
        return {"fails": "before", "told": innermost(error)}
    try:
        result = tables.execute_sql(last)
    except Exception as error:
        return {"fails": "plan", "told": innermost(error)}
    if not last.startswith(corpus.WITH_ROWS):
        try:
            result.wait()
        except Exception as error:
            return {"fails": "run", "told": innermost(error)}
        return {}
    names = [str(column.getName()) for column in result._j_table_result.getResolvedSchema().getColumns()]
    return {"columns": names, "rows": [row for _, row in rows_of(result._j_table_result)]}


def innermost(error: Exception) -> str:
    """The innermost message's first line."""
    raised: BaseException = error
    if isinstance(raised.__cause__, Py4JJavaError):
        raised = raised.__cause__
    if not isinstance(raised, Py4JJavaError):
        return str(raised).strip().split("\n")[0][:TOLD]
    cause = raised.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage()).strip().split("\n")[0][:TOLD]


def ask_programs() -> list[dict[str, Any]]:
    answers = []
    for name, program in corpus.stream_programs().items():
        configuration = Configuration()
        configuration.set_string("python.executable", sys.executable)
        configuration.set_string("python.client.executable", sys.executable)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1)
        answer: dict[str, Any] = {"name": name, "text": corpus.program_text(name)}
        try:
            with program(env).execute_and_collect() as elements:
                answer["elements"] = [plain_python(element) for element in elements]
        except Exception as error:
            print(f"{name}: {str(error)[:2000]}", flush=True)
            answer["fails"] = "run"
        answers.append(answer)
        print(name, flush=True)
    return answers


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "expressions": ask_expressions,
    "queries": ask_queries,
    "errors": ask_errors,
    "programs": ask_programs,
    "statements": ask_statements,
}


def kept(part: str) -> list[dict[str, Any]]:
    file = ANSWERS / f"{part}.json"
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["answers"] if file.exists() else []
    return found


def keep(part: str, answers: list[dict[str, Any]], stays: Callable[[str], bool]) -> None:
    answers = [answer for answer in kept(part) if stays(answer["text"])] + answers
    lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    text = f'{{"flink": {json.dumps(__version__)}, "answers": [\n{lines}\n]}}\n'
    (ANSWERS / f"{part}.json").write_text(text, encoding="utf-8")


def staying(known: Collection[str], having: str) -> Callable[[str], bool]:
    """Which of the texts that were asked before are left as they are."""
    return lambda text: text in known or (bool(having) and having not in text)


def changed(part: str, answers: list[dict[str, Any]]) -> list[str]:
    """What Flink answers otherwise than it did."""
    known = {answer["text"]: in_no_order(answer) for answer in kept(part)}
    return [answer["text"] for answer in answers if known.get(answer["text"]) != in_no_order(answer)]


def in_no_order(answer: Any) -> Any:
    """Without the order of changes and elements, which is another one each time where there are two inputs."""
    if isinstance(answer, dict):
        return {key: in_no_order(value) for key, value in answer.items()}
    return sorted(map(json.dumps, answer)) if isinstance(answer, list) else answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the answers")
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--with", dest="having", default="", help="ask only the queries that have this text")
    parser.add_argument("--new", action="store_true", help="ask only the queries and statements that were never asked")
    given = parser.parse_args()
    others = []
    for part in given.only:
        known = {answer["text"] for answer in kept(part)} if given.new else set()
        if part == "queries":
            answers = ask_queries(given.having, known)
        else:
            answers = ask_statements(known) if part == "statements" else PARTS[part]()
        print(f"{part}: {len(answers)} answers", flush=True)
        if given.record:
            keep(part, answers, staying(known, given.having if part == "queries" else ""))
        else:
            others += changed(part, answers)
    for text in others:
        print(f"Flink answers otherwise than it did: {text}")
    return 1 if others else 0


if __name__ == "__main__":
    raise SystemExit(main())
