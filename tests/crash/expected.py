"""What the job must have written: computed from nothing but how many records each split had."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tests.crash.features import SESSION_GAP, TUMBLING, bucket_of, key_of
from tests.crash.numbered import Numbered, timestamp


def expected(splits: Iterable[int], rules: int) -> Iterator[Any]:
    """``splits``: the number of records of each split; ``rules``: that of the rules."""
    records = [Numbered(split, number) for split, count in enumerate(splits) for number in range(count)]
    by_key: dict[int, list[Numbered]] = defaultdict(list)
    for record in records:
        by_key[key_of(record)].append(record)
        yield ("numbered", *record, record.number + 1)
        yield ("buffered", *record)
        yield ("waited", *record)
    for number in range(rules):
        yield ("rule", number)
    for key, own in by_key.items():
        yield ("rules", key, rules, sum(range(rules)))
        for count in range(1, len(own) + 1):
            yield ("count", key, count)
        for end, count in Counter(bucket_of(timestamp(record)) for record in own).items():
            yield ("bucket", key, end, count)
        yield from _tumbling(key, own)
        yield from _sessions(key, own)


def _tumbling(key: int, records: list[Numbered]) -> Iterator[Any]:
    windows: dict[int, list[int]] = defaultdict(list)
    for record in records:
        windows[timestamp(record) // TUMBLING * TUMBLING].append(record.number)
    for start, numbers in windows.items():
        yield ("tumbling", key, start, start + TUMBLING, len(numbers), sum(numbers))


def _sessions(key: int, records: list[Numbered]) -> Iterator[Any]:
    session: list[Numbered] = []
    for record in sorted(records, key=timestamp):
        if session and timestamp(record) > timestamp(session[-1]) + SESSION_GAP:
            yield _session(key, session)
            session = []
        session.append(record)
    yield _session(key, session)


def _session(key: int, records: list[Numbered]) -> Any:
    start, end = timestamp(records[0]), timestamp(records[-1]) + SESSION_GAP
    return ("session", key, start, end, len(records), sum(record.number for record in records))
