"""Plans of TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.common.types import RowKind
from millrace.relational.fields import Field
from millrace.relational.nodes.base import Rel
from millrace.relational.nodes.changelogs import FromChangelog, ToChangelog
from millrace.relational.nodes.rows import Project
from millrace.relational.rex import Ref
from millrace.relational.types import CharType, VarCharType, string

OP = "op"
KINDS = tuple(kind.name for kind in RowKind)
Mapping = Sequence[tuple[str, str]]


def to_changelog(plan: Rel, op: str = OP, mapping: Mapping | None = None, partition: Sequence[int] = ()) -> Rel:
    """The changes of a table as insertions: the columns of ``partition``, the code of the change, the other columns.

    :param mapping: names of kinds, several with commas between them, and their code; changes of other kinds are left
        out. None: each kind by its name.
    :raises ValueError: no or several codes for a kind, an unknown kind, a column ``op`` that is there already.
    """
    if op in plan.names:
        raise ValueError(f"TO_CHANGELOG: the input has a column '{op}' already: give the code another name with op")
    codes = [(name, code) for names, code in _pairs("TO_CHANGELOG", mapping) for name in _split(names)]
    _check_kinds("TO_CHANGELOG", [name for name, _ in codes])
    _check_once("TO_CHANGELOG", [name for name, _ in codes])
    columns = (Field(op, string().not_null()), *(replace(column, time=None) for column in plan.schema))
    made = ToChangelog(plan, tuple(codes), tuple(partition), columns)
    keys = [each + 1 for each in partition]
    return _in_order(made, [*keys, 0, *(at for at in range(1, len(columns)) if at not in keys)])


def from_changelog(
    plan: Rel, op: str = OP, mapping: Mapping | None = None, partition: Sequence[int] = (), handling: str = "FAIL"
) -> Rel:
    """A table of changes as the table that they make: the columns of ``partition``, then the others, without ``op``.

    :param mapping: codes, several with commas between them, and the name of their kind. None: each kind by its name.
    :param handling: FAIL or SKIP: what is done with rows that have another code.
    :raises ValueError: there is no such column of text, a code occurs twice, a kind is unknown, updates have no old
        rows and there is no key.
    """
    if op not in plan.names:
        raise ValueError(f"FROM_CHANGELOG: the input has no column '{op}': say with op which one has the codes")
    place = plan.names.index(op)
    if not isinstance(plan.schema[place].type, (CharType, VarCharType)):
        raise ValueError(f"FROM_CHANGELOG: the codes are text, and '{op}' is {plan.schema[place].type}")
    if place in partition:
        raise ValueError(f"FROM_CHANGELOG: '{op}' has the codes, so rows are not partitioned by it")
    if handling not in ("FAIL", "SKIP"):
        raise ValueError(f"FROM_CHANGELOG: invalid_op_handling is FAIL or SKIP, not {handling}")
    codes = [(code, name) for texts, name in _pairs("FROM_CHANGELOG", mapping) for code in _split(texts)]
    kinds = {name for _, name in codes}
    _check_kinds("FROM_CHANGELOG", kinds)
    _check_once("FROM_CHANGELOG", [code for code, _ in codes])
    if "UPDATE_BEFORE" in kinds and "UPDATE_AFTER" not in kinds:
        raise ValueError("FROM_CHANGELOG: op_mapping has UPDATE_BEFORE, and no UPDATE_AFTER")
    if "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds and not partition:
        raise ValueError(
            "FROM_CHANGELOG: updates without old rows (UPDATE_BEFORE) need a key: TABLE t PARTITION BY key"
        )
    columns = tuple(replace(column, time=None) for at, column in enumerate(plan.schema) if at != place)
    keys = tuple(each - (each > place) for each in partition)
    made = FromChangelog(plan, place, tuple(codes), keys, handling == "SKIP", columns)
    return _in_order(made, [*keys, *(at for at in range(len(columns)) if at not in keys)])


def _pairs(function: str, mapping: Mapping | None) -> Mapping:
    if mapping is None:
        return [(name, name) for name in KINDS]
    if not mapping:
        raise ValueError(f"{function}: op_mapping has no entry")
    return mapping


def _split(texts: str) -> list[str]:
    return [each.strip() for each in texts.split(",")]


def _check_kinds(function: str, names: Sequence[str] | set[str]) -> None:
    for name in names:
        if name not in KINDS:
            raise ValueError(f"{function}: op_mapping has '{name}', which is none of {', '.join(KINDS)}")


def _check_once(function: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{function}: op_mapping has '{name}' twice")


def _in_order(plan: Rel, places: Sequence[int]) -> Rel:
    if list(places) == list(range(len(plan.schema))):
        return plan
    fields = tuple(plan.schema[at] for at in places)
    return Project(plan, tuple(Ref(field.type, at) for field, at in zip(fields, places)), fields)
