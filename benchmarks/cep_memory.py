"""Memory that partial matches take.

    python -m benchmarks.cep_memory window [--events 1000000] [--window 1000] [--stages 2]
    python -m benchmarks.cep_memory keys [--keys 1000000] [--rows]

`window`: one key; every event begins a match, and the last stage (`followed_by_any`) never comes, so only the window
ends them: with 1,000 events in it there are 1,000 partial matches at any time. With three stages each event is also one
of the second stage for each match that has begun (`followed_by_any`, too): half a million partial matches at once,
and a thousand new ones with each event, which takes some 40 ms: give it fewer events. Printed is the memory of the
process after a tenth of the events, and after the last one.

`keys`: each key has one event that begins a match; against the same job without a pattern's state, bytes a key.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from pathlib import Path
from typing import Any

from millrace.cep import Pattern
from millrace.common.time import Time
from millrace.common.types import Row
from millrace.runtime.cep.nfa import Nfa
from millrace.runtime.operators.pattern_operators import PatternRun
from millrace.runtime.state.backend import KeyedStateBackend

CHUNK = 10_000
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def never(match: Any, time: int) -> None:
    raise AssertionError(f"nothing matches: {match}")


def run_of(pattern: Pattern) -> PatternRun:
    return PatternRun(Nfa(pattern.describe(), timeouts=False), KeyedStateBackend(), "matches", True, never, None)


def window(events: int, length: int, stages: int) -> None:
    pattern = Pattern.begin("0")
    for stage in range(1, stages):
        pattern = pattern.followed_by_any(str(stage))
    run = run_of(pattern.where(lambda event: event < 0).within(Time(length)))
    sizes = []
    begun = time.process_time()
    for start in range(0, events, chunk := min(CHUNK, max(1, events // 10))):
        times = list(range(start, start + chunk))
        run.run({"key": list(range(chunk))}, times, times, times[-1], lambda: None)
        if start + chunk in (events // 10, events):
            sizes.append(resident())
            print(
                f"after {start + chunk:9,} events: {sizes[-1] / 1e6:7.1f} MB, {run.partial_matches:,} partial matches, "
                f"{time.process_time() - begun:.0f} s",
                flush=True,
            )
    print(f"memory after the last event: {sizes[-1] / sizes[0]:.3f} of that after a tenth")


def keys(count: int, rows: bool) -> None:
    run = run_of(Pattern.begin("a").followed_by("b").where(lambda event: False).within(Time(3_600_000)))
    names = [f"key-{number:07}" for number in range(count)]
    known = dict.fromkeys(names)  # what any keyed state has of its keys
    before = resident()
    for start in range(0, count, CHUNK):
        own = names[start : start + CHUNK]
        events: list[Any] = [(name, 12.5, start) for name in own]
        if rows:
            events = [Row(name=name, price=12.5, ts=start) for name in own]
        run.run({name: [place] for place, name in enumerate(own)}, [start] * len(own), events, None, lambda: None)
        run.states.delta()  # the epoch is over
    assert run.partial_matches == count == len(known)
    print(f"{count:,} keys with a partial match: {(resident() - before) / count:.0f} bytes each beside the key")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["window", "keys"])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=1_000)
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", action="store_true", help="events are rows with names instead of tuples")
    given = parser.parse_args()
    if given.what == "window":
        window(given.events, given.window, given.stages)
    else:
        keys(given.keys, given.rows)


if __name__ == "__main__":
    main()
