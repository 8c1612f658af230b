"""Hashes by the time when they are due, against a dict."""

from __future__ import annotations

import random

import numpy as np
import pytest

from millrace.runtime.tables import due_hashes
from millrace.runtime.tables.due_hashes import DueHashes


@pytest.mark.parametrize("many", [0, 1_000_000])
def test_hashes_by_time(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(due_hashes, "MANY", many)
    draw = random.Random(3)
    due, model = DueHashes(), dict[int, list[int]]()
    for now in range(0, 600, 2):
        count = draw.randrange(6)
        hashes, times = draw.sample(range(20), count), [now + draw.randrange(1, 50) for _ in range(count)]
        due.add(np.array(times, np.int64), np.array(hashes, np.uint64))
        for hash, time in zip(hashes, times):
            model.setdefault(hash, []).append(time)
        earliest = min((time for times in model.values() for time in times), default=None)
        assert due.next_time() == earliest
        if draw.random() < 0.5:
            taken = due.take(now).tolist()
            wanted = {hash for hash, times in model.items() if min(times) <= now}
            assert taken == sorted(wanted)
            for hash in wanted:  # as everyone does who takes a hash
                times = [time for time in model.pop(hash) if time > now]
                if times:
                    model[hash] = times
                    due.add(np.array([min(times)]), np.array([hash], np.uint64))
    if not many:
        assert len(due) <= 3 * 20 + 5
