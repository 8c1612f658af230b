"""Lookup joins with a table in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.runtime.tables.tabular import Change, check, harness, less, schema

from millrace.relational.rex import Literal, Ref
from millrace.relational.sources import LookupTableSource
from millrace.relational.types import BigIntType, string
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.joins.lookup_cache import CacheSettings, LookupCache
from millrace.runtime.tables.joins.lookup_join import LookupJoin
from millrace.runtime.tables.joins.lookups import LookupConfig, Retry
from millrace.testing import Element

INPUT = schema(BigIntType(), string())
TABLE = schema(BigIntType(), string())
CONTENT = {1: [(1, "a", 10), (1, "b", 11)], 2: [(2, "c", 12)]}


class Memory(LookupTableSource):
    """A table of three columns, keyed by the first."""

    def __init__(self, content: dict[int, list[tuple[Any, ...]]] | None = None) -> None:
        self.content = CONTENT if content is None else content
        self.asked: list[list[tuple[Any, ...]]] = []
        self.opened = 0

    def open(self) -> None:
        self.opened += 1

    def close(self) -> None:
        self.opened -= 1

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
        assert self.opened
        self.asked.append(list(keys))
        return [self.content.get(key[0], []) for key in keys]


def config(
    source: LookupTableSource,
    kind: str = "INNER",
    retry: Retry | None = None,
    cache: CacheSettings | None = None,
    **settings: Any,
) -> LookupJoin:
    columns = {"lookup": ((0, Ref(BigIntType(), 0)),), "table": TABLE, "columns": (0, 1)} | settings
    return LookupJoin(input=INPUT, external=LookupConfig(source, retry, cache), kind=kind, **columns)


SCRIPT = [
    Element((kind, key, text))
    for kind, key, text in [("+I", 1, "x"), ("-U", 2, "y"), ("+U", 3, "y"), ("+I", None, "n"), ("+I", 2, "z")]
]
INNER: list[Change] = [
    ("+I", 1, "x", 1, "a"),
    ("+I", 1, "x", 1, "b"),
    ("-U", 2, "y", 2, "c"),
    ("+I", 2, "z", 2, "c"),
]


def test_inner() -> None:
    assert check(config(Memory()), (INPUT,), SCRIPT) == INNER


def test_left_keeps_rows_without_partner_in_their_places() -> None:
    alone = [("+U", 3, "y", None, None), ("+I", None, "n", None, None)]
    assert check(config(Memory(), "LEFT"), (INPUT,), SCRIPT) == [*INNER[:3], *alone, INNER[3]]


def test_the_rest_of_the_condition_is_part_of_the_join() -> None:
    condition = less(Ref(string(), 3), Literal(string(), "b"))
    found = check(config(Memory(), "LEFT", condition=condition), (INPUT,), SCRIPT[:2])
    assert found == [INNER[0], ("-U", 2, "y", None, None)]


def test_a_batch_asks_once_for_each_key() -> None:
    source = Memory()
    with harness(config(source), INPUT) as run:
        run.process_elements([(step.value, None) for step in [*SCRIPT, *SCRIPT]])
        assert source.asked == [[(1,), (2,), (3,)]]
    assert source.opened == 0


def test_a_constant_key_and_columns_in_another_order() -> None:
    lookup = ((0, Literal(BigIntType(), 2)),)
    table = schema(BigIntType(), BigIntType())
    found = check(config(Memory(), lookup=lookup, columns=(2, 0), table=table), (INPUT,), SCRIPT[:1])
    assert found == [("+I", 1, "x", 12, 2)]


def test_keys_without_rows_are_asked_for_again() -> None:
    class Late(Memory):
        def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
            found = super().lookup(keys)
            return found if len(self.asked) > 2 else [[] for _ in keys]

    hint = {"retry-predicate": "lookup_miss", "retry-strategy": "fixed_delay", "fixed-delay": "1 ms"}
    for attempts, expected in (("1", []), ("2", INNER[:2])):
        source = Late()
        retry = Retry.of({**hint, "max-attempts": attempts})
        with harness(config(source, retry=retry), INPUT) as run:
            run.process_element(SCRIPT[0].value)
            assert run.values == expected


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ({"retry-predicate": "always"}, "is lookup_miss, not always"),
        ({"retry-predicate": "lookup_miss", "retry-strategy": "backoff"}, "is fixed_delay, not backoff"),
        ({"retry-predicate": "lookup_miss", "fixed-delay": "1s"}, "needs 'max-attempts'"),
    ],
)
def test_hints_that_are_not_understood(hint: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Retry.of(hint)


def test_cached_keys_are_not_asked_for() -> None:
    source = Memory()
    with harness(config(source, cache=CacheSettings(max_rows=10, after_write=1000)), INPUT) as run:
        for now in (0, 500, 1000):
            run.set_processing_time(now)
            run.process_elements([(step.value, None) for step in SCRIPT])
        assert source.asked == [[(1,), (2,), (3,)], [(1,), (2,), (3,)]]
        assert run.values == INNER * 3


def test_the_cache_forgets_what_was_unused_for_longest() -> None:
    cache = LookupCache(CacheSettings(max_rows=3, after_access=100, missing=False))
    cache.put("a", [(1,), (2,)], 0)
    cache.put("b", [(3,)], 0)
    assert cache.get("a", 50) == [(1,), (2,)]
    cache.put("c", [(4,)], 50)
    cache.put("none", [], 50)
    assert [cache.get(key, 149) for key in ("a", "b", "c", "none")] == [[(1,), (2,)], None, [(4,)], None]
    assert cache.get("a", 249) is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"lookup.cache": "NONE"}, None),
        ({"lookup.cache.max-rows": "5", "lookup.cache.ttl": "2 s"}, CacheSettings(5, 2000)),
        (
            {
                "lookup.cache": "PARTIAL",
                "lookup.partial-cache.expire-after-access": "1 min",
                "lookup.partial-cache.cache-missing-key": "false",
            },
            CacheSettings(None, None, 60_000, False),
        ),
        (
            {"lookup.cache": "full", "lookup.full-cache.periodic-reload.interval": "1 h"},
            CacheSettings(after_write=3_600_000),
        ),
    ],
)
def test_options_of_the_cache(options: dict[str, str], expected: CacheSettings | None) -> None:
    assert CacheSettings.of(options) == expected


def test_errors_of_the_source_name_the_keys() -> None:
    class Broken(Memory):
        def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
            raise ConnectionError("the table is gone")

    with harness(config(Broken()), INPUT) as run, pytest.raises(OperatorError, match=r"look up keys") as failure:
        run.process_element(SCRIPT[0].value)
    assert "the table is gone" in str(failure.value) and "(1,)" in str(failure.value)
