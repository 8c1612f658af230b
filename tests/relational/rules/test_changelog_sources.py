"""What the rules may not take from a table that gives its rows by key, without the old ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.registry import call
from millrace.relational.rex import Literal, Ref, Rex
from millrace.relational.rules.filters_and_projections import push_filters
from millrace.relational.rules.optimizer import prune_columns
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT

INT = t.IntType()
COLUMNS = tuple(n.Field(name, INT) for name in "abc")


@dataclass(frozen=True)
class Table:
    kinds: Any
    primary_key: tuple[int, ...] = (1,)


def scan(kinds: Any) -> n.Scan:
    return n.Scan(("catalog", "database", "t"), COLUMNS, Table(kinds))


def is_one(column: int) -> Rex:
    return call("=", [Ref(INT, column), Literal(INT.not_null(), 1)])


@pytest.mark.parametrize(("kinds", "read"), [(UPSERT, (1, 2)), (ALL_KINDS, (2,)), (INSERT_ONLY, (2,))])
def test_the_key_is_read(kinds: Any, read: tuple[int, ...]) -> None:
    plan = n.Project(scan(kinds), (Ref(INT, 2),), COLUMNS[2:])
    pruned = prune_columns(prune_columns(plan))
    (found,) = n.find(pruned, n.Scan)
    assert found.projected == read
    assert pruned.names == ["c"]


@pytest.mark.parametrize(("kinds", "known"), [(UPSERT, {1}), (ALL_KINDS, {1, 2}), (INSERT_ONLY, {1, 2})])
def test_only_conditions_on_the_key_may_reduce_it(kinds: Any, known: set[int]) -> None:
    """A new row that does not fit has to come: it takes the old one away."""
    plan = push_filters(n.Filter(scan(kinds), call("AND", [is_one(1), is_one(2)])))
    (found,) = n.find(plan, n.Scan)
    assert set(found.filters) == {is_one(column) for column in known}
    assert isinstance(plan, n.Filter), "both are checked again"
