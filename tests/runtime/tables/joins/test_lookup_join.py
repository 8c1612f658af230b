"""Lookup joins with a table in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from tests.runtime.tables.tabular import Change, check, check_table, harness, less, schema

from millrace.relational.rex import Literal, Ref
from millrace.relational.sources import LookupTableSource
from millrace.relational.types import BigIntType, string
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.joins.lookup_cache import CacheSettings, LookupCache
from millrace.runtime.tables.joins.lookup_hint import LookupHint, Retry
from millrace.runtime.tables.joins.lookup_join import LookupJoin
from millrace.runtime.tables.joins.lookups import LookupConfig
from millrace.runtime.tables.joins.remembering_lookup_join import RememberingLookupJoin
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
    external: LookupConfig | None = None,
    **settings: Any,
) -> LookupJoin:
    columns = {"lookup": ((0, Ref(BigIntType(), 0)),), "table": TABLE, "columns": (0, 1)} | settings
    external = external or LookupConfig(source, retry, cache)
    return LookupJoin(input=INPUT, external=external, kind=kind, **columns)


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


ENDED = threading.Event()


class Hanging(Memory):
    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
        ENDED.wait(60)
        return super().lookup(keys)


def test_a_table_that_does_not_answer_in_time() -> None:
    source = Hanging()
    external = LookupConfig.of(source, {"timeout": "30 ms"}, 3)
    with harness(config(source, external=external), INPUT) as run:
        with pytest.raises(OperatorError, match=r"did not come within 0.03 s") as failure:
            run.process_element(SCRIPT[0].value)
        assert "(1,)" in str(failure.value)
        ENDED.set()
    assert source.opened == 0


def test_calls_with_a_deadline_are_made_in_one_thread() -> None:
    class Threads(Memory):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def open(self) -> None:
            super().open()
            self.seen.append(threading.current_thread().name)

        def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
            self.seen.append(threading.current_thread().name)
            return super().lookup(keys)

        def close(self) -> None:
            super().close()
            self.seen.append(threading.current_thread().name)

    source = Threads()
    with harness(config(source, external=LookupConfig.of(source, {"timeout": "60 s"}, 3)), INPUT) as run:
        run.process_elements([(step.value, None) for step in SCRIPT])
        assert run.values == INNER
    assert source.seen == ["look-ups of an external table"] * 3


@pytest.mark.parametrize(
    ("hint", "session", "expected"),
    [
        ({}, {}, LookupHint()),
        (
            {"async": "true", "output-mode": "ALLOW_UNORDERED", "capacity": "7", "timeout": "2 s", "shuffle": "true"},
            {"table.exec.async-lookup.timeout": "9 s"},
            LookupHint(None, 2.0, 7, True),
        ),
        ({"async": "false", "capacity": "7", "timeout": "2 s"}, {}, LookupHint()),
        (
            {},
            {"table.exec.async-lookup.timeout": "9 s", "table.exec.async-lookup.buffer-capacity": "3"},
            LookupHint(None, 9.0, 3),
        ),
    ],
)
def test_what_a_hint_says(hint: dict[str, str], session: dict[str, str], expected: LookupHint) -> None:
    assert LookupHint.of(hint, session) == expected


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ({"async": "perhaps"}, "'async' of a LOOKUP hint is true or false, not perhaps"),
        ({"output-mode": "random"}, "is ordered or allow_unordered, not random"),
        ({"capacity": "0"}, "'capacity' of a LOOKUP hint is a number above 0, not 0"),
        ({"timeout": "soon"}, "'timeout' of a LOOKUP hint: "),
        ({"shuffle": "1"}, "'shuffle' of a LOOKUP hint is true or false, not 1"),
    ],
)
def test_hints_that_cannot_be(hint: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LookupHint.of(hint)


class Changing(Memory):
    """A table whose texts are other ones whenever it is asked."""

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
        found = super().lookup(keys)
        return [[(row[0], f"{row[1]}{len(self.asked)}", row[2]) for row in rows] for rows in found]


def remembering(source: LookupTableSource, keys: tuple[int, ...], kind: str = "LEFT") -> RememberingLookupJoin:
    columns: dict[str, Any] = {"lookup": ((0, Ref(BigIntType(), 0)),), "table": TABLE, "columns": (0, 1)}
    return RememberingLookupJoin(input=INPUT, external=LookupConfig(source), kind=kind, keys=keys, **columns)


CHANGES = [
    Element(change)
    for change in [
        ("+I", 2, "x"), ("+I", 3, "y"), ("-U", 2, "x"), ("+U", 1, "x"), ("-D", 3, "y"), ("-U", 1, "x"), ("+U", 2, "x"),
        ("+I", 2, "z"), ("-D", 2, "x"), ("-D", 2, "z"),
    ]
]  # fmt: skip


def test_changing_rows_take_back_what_they_gave() -> None:
    for keys in ((1,), (0, 1)):
        assert not check_table(remembering(Changing(), keys), (INPUT,), CHANGES)
        found = check_table(remembering(Memory(), keys), (INPUT,), CHANGES[:-2])
        assert found == {(2, text, 2, "c"): 1 for text in "xz"}


def test_equal_rows_are_taken_back_one_by_one() -> None:
    row = (2, "x")
    script = [Element((kind, *row)) for kind in ("+I", "+I", "-D", "+I", "-D")]
    assert sum(check_table(remembering(Changing(), (0, 1)), (INPUT,), script).values()) == 1
    assert not check_table(remembering(Changing(), (0, 1)), (INPUT,), [*script, Element(("-D", *row))])
