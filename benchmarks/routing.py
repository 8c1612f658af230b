"""What an element costs its sender, packet encoding included: now, and at the last commit before routing was rewritten.

Two processes that live as long as the comparison, one with Millrace as it is here and one with that of the commit (from
``git archive``), send the same chunks in turn, an epoch each. It compares 2 receivers with 2 receivers, and 1,000
receivers now with 2 receivers then; the exit code says whether the bars hold. Costs are processor time.

The bars are for keys that come again, integers and strings; other kinds of routing are printed beside them.

    python -m benchmarks.routing
    python -m benchmarks.routing --rounds 15 --chunks 8
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
BEFORE = "5f28f77"
CHUNK = 16_384
FEW, MANY = 2, 1_000
MOST_AT_FEW, MOST_AT_MANY = 1.05, 2.5
"""ratios; 0.05 is what one and the same program differs by from run to run"""
BARRED = ("int", "str")
KINDS = (*BARRED, "wide", "shuffle", "custom", "rebalance")
"""hash of 10,000 integers, of 10,000 strings, of a million integers, and other partitioners"""


def _first(value: Any) -> Any:
    return value[0]


def _modulo(key: Any, receivers: int) -> int:
    return int(key % receivers)


def _partitioner(kind: str, receivers: int) -> Any:
    from millrace.runtime.exchange import partitioners
    from millrace.runtime.exchange.keys import default_max_parallelism

    made: dict[str, Callable[[], Any]] = {
        "shuffle": partitioners.Shuffle,
        "custom": lambda: partitioners.Custom(_modulo, _first),
        "rebalance": partitioners.Rebalance,
    }
    hashing = lambda: partitioners.Hash(_first, default_max_parallelism(receivers))
    return made.get(kind, hashing)()


def _chunks(kind: str, count: int) -> list[Any]:
    from millrace.runtime.elements import Chunk

    draw = random.Random(1)
    keys: Callable[[], Any] = lambda: draw.randrange(1_000_000 if kind == "wide" else 10_000)
    chunks = []
    for number in range(count):
        numbers = [keys() for _ in range(CHUNK)]
        values = [(f"user-{n}" if kind == "str" else n, n * 0.5, "payload") for n in numbers]
        chunks.append(Chunk(values, list(range(number * CHUNK, (number + 1) * CHUNK))))
    return chunks


def serve() -> None:
    """Measures an epoch for each line ``kind receivers chunks``; answers with ns per element."""
    from millrace.runtime.exchange.exchange import ChannelWriter

    gc.set_threshold(200_000, 50, 1_000)  # as in a stage
    chunks: dict[str, list[Any]] = {}
    writers: dict[tuple[str, int], tuple[Any, list[Any]]] = {}
    for line in sys.stdin:
        kind, receivers, count = line.split()[0], *map(int, line.split()[1:])
        if kind not in chunks:
            chunks = {kind: _chunks(kind, count)}
        if (kind, receivers) not in writers:
            packets: list[Any] = []
            partitioner = _partitioner(kind, receivers)
            writers = {(kind, receivers): (ChannelWriter(0, partitioner, 0, 1, receivers, 0, packets.append), packets)}
        writer, packets = writers[kind, receivers]
        gc.collect()
        gc.freeze()
        began = time.process_time_ns()
        for number, chunk in enumerate(chunks[kind], 1):
            writer.write(chunk)
            writer.mark(number * CHUNK)
        writer.end_epoch()
        taken = time.process_time_ns() - began
        packets.clear()
        print(taken / (count * CHUNK), flush=True)


class Side:
    """One of the two processes."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, kind: str, receivers: int, chunks: int) -> float:
        """ns per element."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{kind} {receivers} {chunks}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def unpack_before(folder: Path) -> Path:
    """The sources of the commit to compare with."""
    archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=REPOSITORY, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def compare(before: Side, now: Side, kind: str, rounds: int, chunks: int) -> bool:
    """Print the costs of one kind; whether they are low enough."""
    pairs = [(before.measure(kind, FEW, chunks), now.measure(kind, FEW, chunks)) for _ in range(rounds + 1)][
        1:
    ]  # the first one warms up
    many = [now.measure(kind, MANY, chunks) for _ in range(rounds + 1)][1:]
    then = statistics.median(old for old, _ in pairs)
    few_ratio = statistics.median(new / old for old, new in pairs)
    many_ratio = statistics.median(many) / then
    print(
        f"{kind:10} {then:6.0f} ns before, now {statistics.median(new for _, new in pairs):6.0f} ns "
        f"({few_ratio:.2f}, at most {MOST_AT_FEW}), with {MANY} receivers {statistics.median(many):6.0f} ns "
        f"({many_ratio:.2f}, at most {MOST_AT_MANY})",
        flush=True,
    )
    return few_ratio <= MOST_AT_FEW and many_ratio <= MOST_AT_MANY


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--chunks", type=int, default=32, help="chunks of an epoch")
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        before, now = Side(unpack_before(Path(folder))), Side(REPOSITORY / "src")
        print(f"processor time per element, epochs of {arguments.chunks} chunks of {CHUNK}, {FEW} receivers")
        good = {kind: compare(before, now, kind, arguments.rounds, arguments.chunks) for kind in arguments.kinds}
        before.close()
        now.close()
    enough = all(good[kind] for kind in BARRED if kind in good)
    print("good enough" if enough else "too slow")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
