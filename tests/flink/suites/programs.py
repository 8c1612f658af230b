"""Runs the programs of Flink's tests: their tables, their statements, and what is in the sinks afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.flink.asking import same, sorted_rows, table_of
from tests.flink.plain import plain_python
from tests.flink.suites.net import names_of
from tests.flink.suites.reading import lines, plain
from tests.flink.suites.tables import DECLARED, HALVES, WRITTEN

from millrace.common.types import Row
from millrace.connectors.tables.print_table import row_text
from millrace.connectors.tables.values_table import clear_values, results_of
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_locally
from millrace.testing.local import FinishedJob, LocalEngine, LocalRun

Step = dict[str, Any]
ZONE = "UTC"
PAUSE = 60_000
"""ms between the halves of a program that stops"""
SETTINGS = {"parallelism.default": "1", "millrace.table.aggregate.every-change": "true"}
OPTIONS = ("changelog-mode", "sink-changelog-mode-enforced", "sink-insert-only")
PLACE = "default_catalog.default_database"
LEFT = {
    "FUNCTION": "functions in Java",
    "MODEL": "models in Java",
    "TEMPORAL_FUNCTION": "temporal table functions, which the Table API in Python does not make",
    "FAILING_TABLE_API": "the recorder could not read it",
}


@dataclass(frozen=True)
class Program:
    """A program of tables."""

    key: str
    setup: tuple[Step, ...]
    run: tuple[Step, ...]

    @property
    def left(self) -> str:
        """Why it cannot be run; empty if it can."""
        for step in (*self.setup, *self.run):
            if step["step"] in LEFT:
                return LEFT[step["step"]]
            if "unread" in step:
                return "functions in Java" if "registered" in step["unread"] else "the recorder could not read it"
            if "enable-vector-search" in step.get("options", {}):
                return "a search for vectors by a connector that is there for Flink's tests only"
        return ""

    @property
    def sources(self) -> list[Step]:
        return [step for step in self.setup if step["step"].startswith("SOURCE")]

    @property
    def first_half(self) -> int:
        """How many rows the source has before the program stops; 0 where it makes no difference whether it does."""
        sources = [step for step in self.setup if step["step"] == "SOURCE_WITH_RESTORE_DATA"]
        looked_up = [step for step in sources if step.get("options", {}).get("disable-lookup") == "false"]
        if not looked_up and not self.key.endswith("state-ttl-hint") and not self.waits:
            return 0
        return max((len(step["rows"]) for step in sources if step not in looked_up), default=0)

    @property
    def waits(self) -> bool:
        """Whether its windows end with the clock."""
        return "proc-time" in self.key

    @property
    def sinks(self) -> list[Step]:
        return [step for step in self.setup if step["step"].startswith("SINK")]


def submit(environment: StreamExecutionEnvironment, job_name: str | None, collect: int | None = None) -> FinishedJob:
    """Runs a job in this process with an epoch for each record: watermarks follow every one, as with Flink."""
    return FinishedJob(_in_halves(environment) if HALVES.first else run_locally(environment, epoch_records=1))


def _in_halves(environment: StreamExecutionEnvironment) -> LocalRun:
    """Runs a job that stops for a while after its first half."""
    now, run = [0], LocalRun()
    engine = LocalEngine(replace(environment.job_graph(), epoch_records=1), lambda: now[0])
    for result in engine.epochs():
        run.epochs.append(result)
        now[0] += 1
        if len(run.epochs) == HALVES.first:
            HALVES.second = True
        if len(run.epochs) in (HALVES.first, HALVES.all):
            now[0] += PAUSE
    return run


def programs() -> list[Program]:
    """Each program once: several tests may have the same."""
    found: dict[str, Program] = {}
    for line in lines("programs"):
        program = Program(f"{line['suite']}/{line['set']}", tuple(line["setup"]), tuple(line["run"]))
        found.setdefault(program.key, program)
    return list(found.values())


def difference(program: Program, made: Callable[[], TableEnvironment] | None = None) -> str:
    """What is not as Flink's tests expect; empty if nothing is.

    :param made: the environment with the program's tables; None: one in streaming mode.
    """
    batch = made is not None
    made = made or partial(environment, program)
    try:
        return next(filter(None, (_difference(program, steps, made, batch) for steps in _ways(program))), "")
    finally:
        HALVES.end()  # other tests of this process have jobs that do not stop


def _ways(program: Program) -> list[Sequence[Step]]:
    """The steps of one run; what is there in SQL and in the Table API is run once for each."""
    if len({step["step"] for step in program.run} & {"SQL", "TABLE_API"}) == 2:
        # A query that is no INSERT is how Flink writes that of the Table API.
        return [[step] for step in program.run if step.get("sql", "INSERT").strip().upper().startswith("INSERT")]
    return [program.run]


def _difference(program: Program, steps: Sequence[Step], made: Callable[[], TableEnvironment], batch: bool) -> str:
    clear_values()
    WRITTEN.clear()
    HALVES.first, HALVES.second = (0 if batch else program.first_half), False
    HALVES.waits = not batch and program.waits
    HALVES.all = max((len(changes_of(step)) for step in program.sources), default=0)
    failing = [step for step in steps if step["step"] == "FAILING_SQL"]
    try:
        tables = made()
        for step in steps:
            if step["step"] != "FAILING_SQL":
                _run(tables, step)
    except Exception as error:
        return f"fails: {type(error).__name__}: {error}"
    for step in failing:
        try:
            tables.execute_sql(step["sql"]).wait()
        except Exception:
            continue
        return f"runs, with Flink it fails: {step['message']}"
    return next(filter(None, (_sink_difference(tables, sink) for sink in program.sinks)), "")


def environment(
    program: Program,
    settings: EnvironmentSettings | None = None,
    given: Callable[[Step], list[list[Any]]] | None = None,
) -> TableEnvironment:
    """An environment with the tables of a program.

    :param given: the rows of a source; None: its changes as they are.
    """
    tables = TableEnvironment.create(settings or EnvironmentSettings.in_streaming_mode())
    tables.get_config().set_local_timezone(ZONE)
    for key, value in SETTINGS.items():
        tables.get_config().set(key, value)
    for step in program.setup:
        if step["step"] == "CONFIG":
            tables.get_config().set(step["key"], step["value"])
        elif step["step"] == "SQL":
            tables.execute_sql(step["sql"])
        else:
            _create(tables, step, program.key, given or changes_of)
    return tables


def _create(tables: TableEnvironment, step: Step, program: str, given: Callable[[Step], list[list[Any]]]) -> None:
    name = f"{program}/{step['name']}"
    if step["step"].startswith("SOURCE"):
        DECLARED[name] = given(step)
        HALVES.looked_up[name] = (step.get("rows", []), step.get("after", []))
    options = {key: value for key, value in step.get("options", {}).items() if key in OPTIONS}
    if given is not changes_of:
        options.pop("changelog-mode", None)
    elif "changelog-mode" not in options and any(kind != "+I" for kind, _ in DECLARED.get(name, ())):
        options["changelog-mode"] = "I,UB,UA,D"
    words = {"connector": "flink-values", "id": name, **options}
    partitions = f" PARTITIONED BY ({', '.join(step['partitions'])})" if "partitions" in step else ""
    distribution = f" {step['distribution'].strip()}" if "distribution" in step else ""
    shown = ", ".join(f"'{key}' = '{value.replace(chr(39), chr(39) * 2)}'" for key, value in words.items())
    columns = ", ".join(step["schema"])
    tables.execute_sql(f"CREATE TABLE {step['name']} ({columns}){distribution}{partitions} WITH ({shown})")


def changes_of(step: Step) -> list[list[Any]]:
    """The changes of a source, of both halves of its program."""
    return [*step.get("rows", ()), *step.get("after", ())]


def _run(tables: TableEnvironment, step: Step) -> None:
    if step["step"] == "STATEMENT_SET":
        statements = tables.create_statement_set()
        for statement in step["statements"]:
            statements.add_insert_sql(statement)
        statements.execute().wait()
    elif "written" in step:
        tables.execute_sql(f"INSERT INTO {step['sink']} {step['written']}").wait()
    else:
        tables.execute_sql(step["sql"]).wait()


# -- comparing --------------------------------------------------------------------------------------------------------


def _sink_difference(tables: TableEnvironment, sink: Step) -> str:
    """What the sink's table is afterwards; of changes on the way others may be left out, as epochs are others."""
    schema = tables.from_path(sink["name"]).get_schema()
    kinds = dict(zip(schema.get_field_names(), schema.get_field_data_types()))
    written = _written(sink, list(kinds))
    names = _metadata_as_listed(sink, written)
    types = [kinds[name] for name in names]
    shown = row_text(types)
    place = f"{PLACE}.{sink['name']}"
    places = [written.index(name) for name in names]
    rows = [_picked(row, places) for row in results_of(place) or WRITTEN.get(place, [])]
    texts = [_of_text(shown(row)) for row in rows]
    values = [[str(row.get_row_kind()), [plain_python(cell) for cell in row]] for row in rows]
    key = [names.index(name) for name in key_of(sink)]
    told = ""
    for as_text, wanted in _wanted(sink):
        ours = texts if as_text else values
        single = "FLOAT" in " ".join(map(str, types))
        if sorted_rows(ours) == sorted_rows(wanted) or same(_after(ours, key), _after(wanted, key), single):
            return ""
        told = f"{sink['name']} gets {ours}, with Flink {wanted}"
    return told


def _written(sink: Step, names: Sequence[str]) -> list[str]:
    """The columns of a sink as it gets them: metadata behind the others."""
    metadata = {name for name, part in zip(names_of(sink["schema"]), sink["schema"]) if " METADATA" in part.upper()}
    return sorted(names, key=lambda name: name in metadata)


def _metadata_as_listed(sink: Step, written: Sequence[str]) -> list[str]:
    """The same with metadata in the order in which the connector of Flink's tests lists them."""
    listed = [each.split(":")[0] for each in sink.get("options", {}).get("writable-metadata", "").split(",")]
    return sorted(written, key=lambda name: listed.index(name) + 1 if name in listed else 0)


def _picked(row: Row, places: Sequence[int]) -> Row:
    """Cells of a row, in another order."""
    found = Row(*(row[place] for place in places))
    found.set_row_kind(row.get_row_kind())
    return found


def _wanted(sink: Step) -> Iterator[tuple[bool, list[Any]]]:
    """The changes that are expected, as text or as values; one of them is to be there."""
    for names in (("texts", "texts_after"), ("materialized_texts",)):
        if names[0] in sink:
            yield True, [_of_text(text) for name in names for text in sink.get(name) or ()]
    for names in (("rows", "after"), ("materialized",)):
        if names[0] in sink:
            yield False, [[kind, plain(cells)] for name in names for kind, cells in sink.get(name) or ()]


def _of_text(text: str) -> list[Any]:
    """``+I[1, a]`` as a kind and cells."""
    kind, inner = (text[:2], text[3:-1]) if text[0] in "+-" else ("+I", text[1:-1])
    cells, depth, start = [], 0, 0
    for at, letter in enumerate(inner):
        depth += letter in "[({" or -(letter in "])}")
        if letter == "," and not depth:
            cells.append(inner[start:at].strip())
            start = at + 1
    return [kind, [*cells, inner[start:].strip()]]


def key_of(sink: Step) -> list[str]:
    """The columns of the primary key."""
    for part in sink["schema"]:
        if found := re.search(r"PRIMARY KEY\s*\(([^)]*)\)", part, re.IGNORECASE):
            return [name.strip().strip("`") for name in found[1].split(",")]
        if "PRIMARY KEY" in part.upper():
            return [part.split()[0].strip("`")]
    return []


def _after(changes: Sequence[list[Any]], key: Sequence[int]) -> Any:
    """The table after the changes: by its key, if it has one."""
    if not key:
        try:
            return table_of(changes)
        except ValueError:
            return ["rows are taken back that are not there", *sorted_rows(changes)]
    rows: dict[str, Any] = {}
    for kind, cells in changes:
        place = json.dumps([cells[at] for at in key])
        if kind in ("+I", "+U"):
            rows[place] = cells
        elif kind == "-D" or rows.get(place) == cells:
            rows.pop(place, None)
    return sorted_rows(list(rows.values()))
