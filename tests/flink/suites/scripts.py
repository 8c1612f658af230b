"""The scripts of Flink's gateway: statements of a session, and what each is to show. Read from its compiled tests."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.flink.suites.reading import lines, short

from millrace.connectors.tables.print_table import row_text
from millrace.table import EnvironmentSettings, TableEnvironment

PART = re.compile(r"(.*?)\n!output\n(.*?)\n!(\w+)", re.DOTALL)
SHOWS = re.compile(r"(SELECT|SHOW|DESC|DESCRIBE|EXPLAIN|WITH|VALUES|SET|RESET|CALL)\b", re.IGNORECASE)
PLACE = re.compile(r"\$VAR_\w+")


# -- reading ----------------------------------------------------------------------------------------------------------


def read(jar: Path) -> str:
    """The scripts of a jar as lines of JSON."""
    with zipfile.ZipFile(jar) as file:
        names = sorted(name for name in file.namelist() if re.fullmatch(r"sql/\w+\.q", name))
        found = [{"suite": name, "statements": list(_parts(file.read(name).decode()))} for name in names]
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in found)


def _parts(text: str) -> Iterator[dict[str, Any]]:
    plain = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    for sql, output, tag in PART.findall(plain):
        yield {"sql": sql.strip().removesuffix(";").strip(), "tag": tag, **_output(output.strip(), tag)}


def _output(text: str, tag: str) -> dict[str, Any]:
    """A table as names and rows of texts."""
    if tag == "error":
        return {"error": text.split(":")[0].rpartition(".")[2]}
    if tag == "info":
        return {}
    if text == "Empty set":
        return {"rows": []}
    if not text.startswith("+-"):
        return {"text": text}
    cells = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in text.splitlines() if line.startswith("|")]
    return {"columns": cells[0], "rows": cells[1:]}


# -- running ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement:
    """A statement of a script."""

    key: str
    found: dict[str, Any] = field(compare=False)

    @cached_property
    def sql(self) -> str:
        return str(self.found["sql"])


@dataclass(frozen=True)
class Script:
    """The statements of one session."""

    name: str
    statements: tuple[Statement, ...]


def scripts() -> list[Script]:
    return [Script(line["suite"], tuple(_statements(line))) for line in lines("scripts")]


def _statements(line: dict[str, Any]) -> Iterator[Statement]:
    seen: dict[str, int] = {}
    for found in _whole(line["statements"]):
        key = short(f"{line['suite']}: {found['sql']}")
        seen[key] = seen.get(key, 0) + 1
        yield Statement(key if seen[key] == 1 else f"{key} #{seen[key]}", found)


def _whole(found: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A statement set that several statements make is one here; what is refused in it is a set alone."""
    inside: list[str] | None = None
    for each in found:
        sql = each["sql"]
        if re.fullmatch(r"BEGIN\s+STATEMENT\s+SET", sql, re.IGNORECASE):
            inside = [] if "error" not in each else inside
            if inside:
                yield {"sql": f"BEGIN STATEMENT SET; {sql}; END", **_only_error(each)}
        elif inside is None:
            yield each
        elif "error" in each and sql.upper() != "END":
            yield {"sql": f"BEGIN STATEMENT SET; {sql}; END", **_only_error(each)}
        elif sql.upper() == "END":
            text = "".join(f"{one}; " for one in inside)
            yield {**each, "sql": f"BEGIN STATEMENT SET; {text}END"}
            inside = None
        else:
            inside.append(sql)


def _only_error(found: dict[str, Any]) -> dict[str, Any]:
    return {"tag": found["tag"], "error": found["error"]}


def differences(script: Script, folder: Path) -> dict[str, str]:
    """What is not as with Flink, by statement."""
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set_local_timezone("UTC")
    found = {}
    for statement in script.statements:
        told = _difference(tables, statement, folder)
        if told:
            found[statement.key] = told
    return found


def _difference(tables: TableEnvironment, statement: Statement, folder: Path) -> str:
    fails = statement.found.get("error")
    sql = PLACE.sub(lambda name: str(folder / name[0][1:].lower().replace("_relative", "")), statement.sql)
    if re.match(r"SET\s+'execution.runtime-mode'", sql, re.IGNORECASE):
        # Rows of tables that end are the same in both modes.
        return ""
    try:
        result = tables.execute_sql(sql)
        names, rows = _shown(result) if SHOWS.match(sql) else ([], [])
        if not SHOWS.match(sql):
            result.wait()
    except Exception as error:
        return "" if fails else f"fails: {type(error).__name__}: {error}"
    if fails:
        return f"runs, with Flink it fails: {fails}"
    return _other(statement.found, names, rows) if SHOWS.match(sql) else ""


def _shown(result: Any) -> tuple[list[str], list[list[str]]]:
    schema = result.get_table_schema()
    texts = row_text(schema.get_field_data_types())
    with result.collect() as rows:
        return list(schema.get_field_names()), [_cells(texts(row), row) for row in rows]


def _cells(text: str, row: Any) -> list[str]:
    return [str(row.get_row_kind()), *("NULL" if cell is None else _text(cell) for cell in row)]


def _text(cell: Any) -> str:
    return str(cell).upper() if isinstance(cell, bool) else str(cell)


def _other(wanted: dict[str, Any], names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if wanted.get("columns") == ["result"] or "== Abstract Syntax Tree ==" in wanted.get("text", ""):
        # A plan is shown in other words here.
        return ""
    if "text" in wanted:
        text = "\n".join(row[1] for row in rows)
        return "" if _squeezed(text) == _squeezed(wanted["text"]) else f"shows {text}, Flink {wanted['text']}"
    changes = wanted.get("columns", [""])[0] == "op"
    theirs = [[_null(cell) for cell in row] for row in wanted["rows"]]
    ours = [[_null(cell.strip()) for cell in (row if changes else row[1:])] for row in rows]
    if sorted(ours) != sorted(theirs):
        return f"shows {ours}, Flink {theirs}"
    shown = ["op", *names] if changes else list(names)
    return "" if shown == wanted.get("columns", shown) else f"has columns {shown}, Flink {wanted['columns']}"


def _null(cell: str) -> str:
    return "" if cell in ("NULL", "<NULL>") else cell


def _squeezed(text: str) -> str:
    return " ".join(text.split())
