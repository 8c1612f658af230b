"""Asks Millrace the kept cases: many in one query, in streaming mode without Spark and in batch mode on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tests.flink.asking import Asked, same, streamed
from tests.flink.suites.expressing import NotThere, expression
from tests.flink.suites.reading import Case, CaseSet, columns_of, plain, sets, type_of

from millrace.relational import nodes as n
from millrace.relational import rex as r
from millrace.relational.functions.registry import cast_to
from millrace.relational.rex import Field
from millrace.relational.types import DataType
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.queries.projection import project
from millrace.util.exceptions import TableException

ZONE = "UTC"
"""where a test says nothing; that of the recorder"""
STRING = DataTypes.STRING()
SOURCE = "testTable"
"""as Flink's tests of expressions have it"""
TOGETHER = 150
"""cases of one query"""
Run = Callable[[Asked], list[list[Any]]]


@dataclass(frozen=True)
class Planned:
    """A case with its plan."""

    case: Case
    environment: TableEnvironment
    plan: n.Rel

    @property
    def types(self) -> list[DataType]:
        return [column.type for column in self.plan.schema]


@dataclass(frozen=True)
class Refused:
    """A case that is refused before anything runs."""

    case: Case
    why: str


@dataclass(frozen=True)
class Left:
    """A case that cannot be asked, and why."""

    case: Case
    why: str


Found = Planned | Refused | Left


@cache
def planned(part: str) -> tuple[Found, ...]:
    """The cases of a part, planned."""
    return tuple(found for cases in sets(part) for found in _planned(cases))


def _planned(cases: CaseSet) -> Iterator[Found]:
    try:
        tables = environment(tuple(sorted(cases.config.items())))
    except TableException as error:
        yield from (Left(case, str(error).partition(": ")[2]) for case in cases.cases)
        return
    found = list(columns_of(cases))
    columns = [each for each in found if len(each) == 3]
    missing = {each[0]: each[1] for each in found if len(each) == 2}
    _source(tables, columns)
    for case in cases.cases:
        try:
            why = _not_there(case, cases, missing)
            yield Left(case, why) if why else Planned(case, tables, _plan(tables, case))
        except NotThere as error:
            yield Left(case, str(error))
        except Exception as error:
            yield Refused(case, f"{type(error).__name__}: {error}")


@cache
def environment(config: tuple[tuple[str, str], ...]) -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set_local_timezone(ZONE)
    for key, value in config:
        tables.get_config().set(key, value)
    return tables


def _source(tables: TableEnvironment, columns: Sequence[tuple[str, DataType, Any]]) -> None:
    """Make a view of one row."""
    tables.drop_temporary_view(SOURCE)
    if columns:
        kind = DataTypes.ROW([DataTypes.FIELD(each, kind) for each, kind, _ in columns])
        table = tables.from_elements([tuple(value for _, _, value in columns)], kind)
    else:
        table = tables.from_elements([(0,)], DataTypes.ROW([DataTypes.FIELD("none", DataTypes.INT())]))
    tables.create_temporary_view(SOURCE, table)


def _not_there(case: Case, cases: CaseSet, missing: Mapping[str, str]) -> str:
    """Why a case cannot be asked; empty if it can."""
    if "unread" in case.found:
        return "the recorder could not read it"
    if case.fails and case.key.endswith((": FAIL (api)", ": FAIL")):
        return "mistakes that Java's API refuses while a test is written"
    asked = case.sql or ""
    if any(_has_word(asked, name) for name in cases.functions) or any(
        _calls(tree, cases.functions) for tree in case.trees
    ):
        return "functions in Java"
    for name, why in missing.items():
        if _has_word(asked, name) or any(_reads(tree, name) for tree in case.trees):
            return why
    if any(type_of(text) is None for text in case.found.get("types", ())):
        return "types of Java's classes"
    return ""


def _has_word(text: str, word: str) -> bool:
    import re

    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) is not None


def _calls(tree: dict[str, Any], names: Iterable[str]) -> bool:
    name = tree.get("lookup") or tree.get("call") or ""
    return name in names or name.startswith("java:") or any(_calls(each, names) for each in tree.get("args", ()))


def _reads(tree: dict[str, Any], name: str) -> bool:
    return tree.get("col") == name or any(_reads(each, name) for each in tree.get("args", ()))


def _plan(tables: TableEnvironment, case: Case) -> n.Rel:
    if case.sql is not None:
        plan = tables.sql_query(f"SELECT {case.sql} FROM {SOURCE}")._plan
    else:
        plan = tables.from_path(SOURCE).select(*map(expression, case.trees))._plan
    return _as_text(plan) if "text" in case.found else plan


def _as_text(plan: n.Rel) -> n.Rel:
    """With the values as text, in which Flink's tests of expressions compare them."""
    if isinstance(plan, n.Project):
        return project(plan.input, [cast_to(each, STRING) for each in plan.expressions], [c.name for c in plan.columns])
    return plan


# -- many in one ------------------------------------------------------------------------------------------------------


def mergeable(plan: n.Rel) -> bool:
    return isinstance(plan, n.Project) and isinstance(plan.input, n.Values) and len(plan.input.rows) == 1


def merged(found: Sequence[Planned]) -> n.Rel:
    """One plan whose columns are those of all."""
    columns: list[Field] = []
    row: list[Any] = []
    expressions: list[r.Rex] = []
    names: list[Field] = []
    places: dict[int, int] = {}
    for each in found:
        plan = each.plan
        assert isinstance(plan, n.Project) and isinstance(plan.input, n.Values)
        if id(plan.input) not in places:
            places[id(plan.input)] = len(columns)
            columns += [replace(column, name=f"i{len(columns) + at}") for at, column in enumerate(plan.input.columns)]
            row += plan.input.rows[0]
        expressions += [r.shift(one, places[id(plan.input)]) for one in plan.expressions]
        names += [replace(column, name=f"o{len(names) + at}") for at, column in enumerate(plan.columns)]
    return n.Project(n.Values(tuple(columns), (tuple(row),)), tuple(expressions), tuple(names))


def values(found: Sequence[Planned], run: Run) -> dict[str, list[Any] | str]:
    """The values of each case by its key; a text says why it fails."""
    results: dict[str, list[Any] | str] = {}
    alone = [each for each in found if each.case.fails or not mergeable(each.plan)]
    groups: dict[int, list[Planned]] = {}
    for each in found:
        if not (each.case.fails or not mergeable(each.plan)):
            groups.setdefault(id(each.environment), []).append(each)
    for group in groups.values():
        for at in range(0, len(group), TOGETHER):
            _together(group[at : at + TOGETHER], run, results)
    for each in alone:
        _together([each], run, results)
    return results


def _together(found: Sequence[Planned], run: Run, results: dict[str, list[Any] | str]) -> None:
    plan = found[0].plan if len(found) == 1 else merged(found)
    try:
        rows = run(Asked(found[0].environment, plan))
    except Exception as error:
        if len(found) == 1:
            results[found[0].case.key] = f"{type(error).__name__}: {error}"
            return
        middle = len(found) // 2
        _together(found[:middle], run, results)
        _together(found[middle:], run, results)
        return
    at = 0
    for each in found:
        count = len(each.types)
        results[each.case.key] = rows[0][at : at + count] if len(rows) == 1 else f"{len(rows)} rows"
        at += count


def in_streaming(asked: Asked) -> list[list[Any]]:
    return [row for _, row in streamed(asked)]


# -- comparing --------------------------------------------------------------------------------------------------------


def difference(found: Planned | Refused, given: list[Any] | str | None) -> str:
    """What is not as Flink's tests expect; empty if nothing is."""
    case = found.case
    if isinstance(found, Refused):
        return "" if case.fails in ("plan", "any", "run") else f"is refused: {found.why}"
    assert given is not None
    if case.fails == "plan":
        return f"is planned, with Flink it is refused: {case.found.get('message')}"
    if isinstance(given, str):
        return "" if case.fails else f"fails: {given}"
    if case.fails:
        return f"gives {given}, with Flink it fails: {case.found.get('message')}"
    return _value_difference(found, given)


def _value_difference(found: Planned, given: list[Any]) -> str:
    wanted = found.case.found
    if "text" in wanted:
        text = None if wanted["text"] == "NULL" else wanted["text"]
        # Of several columns the tests look at the first.
        return "" if given[:1] == [text] else f"gives {given}, Flink {[text]}"
    types = [type_of(text) for text in wanted.get("types", ())]
    if types and types != found.types:
        return f"has types {[str(each) for each in found.types]}, with Flink {wanted['types']}"
    theirs = plain(wanted.get("values", []))
    single = any("FLOAT" in str(each) for each in found.types)
    if theirs and not same(given, theirs, single):
        return f"gives {given}, Flink {theirs}"
    return ""
