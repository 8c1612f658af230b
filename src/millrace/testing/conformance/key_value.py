"""What a ``KeyValueStore`` has to do, byte by byte."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from millrace.common.state.store import KeyValueStore
from millrace.testing.conformance.checks import Check, expect

Open = Callable[[], KeyValueStore]

KEYS = [b"", b"\0", b"\0\0", b"a", b"a\0", b"a\0b", b"a\xff", b"b", b"b" * 300, b"\x7f", b"\x80", b"\xff", b"\xff\xff"]
"""in the order of their bytes"""


def store_checks(open_store: Open) -> Iterator[Check]:
    """All checks of a store; ``open_store`` gives a new one."""
    for function in (_empty, _read_your_writes, _delete, _order, _last_before, _left_scans, _sizes, _apart, _random):
        yield Check(f"store: {function.__name__.strip('_').replace('_', ' ')}", _on(function, open_store))


def _on(function: Callable[[Open], None], open_store: Open) -> Callable[[], None]:
    return lambda: function(open_store)


@contextmanager
def _opened(open_store: Open) -> Iterator[KeyValueStore]:
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def _empty(open_store: Open) -> None:
    with _opened(open_store) as store:
        expect(store.get(b"a"), None, "get() of a key that is not there")
        expect(list(store.scan(b"")), [], "scan() of a new store")
        expect(store.last_before(b"\xff"), None, "last_before() in a new store")


def _read_your_writes(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, b"1" + key) for key in KEYS])
        for key in KEYS:
            expect(store.get(key), b"1" + key, f"get({key!r})")
        store.write([(b"a", b"again"), (b"b", b"")])
        expect(store.get(b"a"), b"again", "get() of a value that was replaced")
        expect(store.get(b"b"), b"", "get() of an empty value")
        expect(store.get(b"\0"), b"1\0", "get() of a value beside a replaced one")


def _delete(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, b"1") for key in KEYS])
        store.write([(b"a", None), (b"never", None), (b"\xff", b"2")])
        expect(store.get(b"a"), None, "get() of a key that was deleted")
        expect(store.get(b"a\0"), b"1", "get() of a key that begins with a deleted one")
        expect([key for key, _ in store.scan(b"")], [key for key in KEYS if key != b"a"], "keys after a deletion")
        store.write([(key, None) for key in KEYS])
        expect(list(store.scan(b"")), [], "scan() after all was deleted")


def _order(open_store: Open) -> None:
    with _opened(open_store) as store:
        for key in reversed(KEYS):
            store.write([(key, key)])
        for start in [*KEYS, b"a\0a", b"c"]:
            wanted = [(key, key) for key in KEYS if key >= start]
            expect(list(store.scan(start)), wanted, f"scan({start!r})")


def _last_before(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, key) for key in KEYS])
        for end in [*KEYS, b"a\0a", b"c", b"\xff" * 9]:
            before = [key for key in KEYS if key < end]
            wanted = (before[-1], before[-1]) if before else None
            expect(store.last_before(end), wanted, f"last_before({end!r})")


def _left_scans(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, key) for key in KEYS])
        first, second = iter(store.scan(b"")), iter(store.scan(b"b"))
        expect(next(first)[0], b"", "the first of two scans")
        expect(next(second)[0], b"b", "the second of two scans")
        expect(store.get(b"a"), b"a", "get() during scans")
        expect(next(first)[0], b"\0", "the first scan after the second has begun")
        del first, second
        store.write([(b"new", b"new")])
        expect(store.get(b"new"), b"new", "what was written after scans were left")


def _sizes(open_store: Open) -> None:
    with _opened(open_store) as store:
        many = [(number.to_bytes(4, "big"), bytes(20)) for number in range(20_000)]
        store.write([*many, (b"large", bytes(range(256)) * 8_000)])
        expect(sum(1 for _ in store.scan(b"")), 20_001, "number of entries")
        expect(store.get(b"large"), bytes(range(256)) * 8_000, "a value of 2 MB")
        expect(store.get((19_999).to_bytes(4, "big")), bytes(20), "the last of many")


def _apart(open_store: Open) -> None:
    with _opened(open_store) as one, _opened(open_store) as other:
        one.write([(b"k", b"1")])
        expect(other.get(b"k"), None, "what another task has written")
        other.write([(b"k", b"2")])
        expect(one.get(b"k"), b"1", "a value after another task wrote the same key")
    with _opened(open_store) as new:
        expect(list(new.scan(b"")), [], "a store that is opened after others were closed")


def _random(open_store: Open) -> None:
    for seed in range(20):
        source, model = random.Random(seed), dict[bytes, bytes]()
        with _opened(open_store) as store:
            for step in range(60):
                keys = sorted({source.randbytes(source.randrange(3)) for _ in range(source.randrange(1, 6))})
                changes = [(key, source.choice([None, source.randbytes(source.randrange(5))])) for key in keys]
                store.write(changes)
                for key, value in changes:
                    if value is None:
                        model.pop(key, None)
                    else:
                        model[key] = value
                start = source.randbytes(source.randrange(2))
                wanted = sorted(item for item in model.items() if item[0] >= start)
                expect(list(store.scan(start)), wanted, f"seed {seed}, step {step}, scan({start!r})")
