"""A prototype: what latency a keyed count has when tasks stay and exchange by themselves, with barriers in the stream.

    python -m benchmarks.long_stages [--rate 1000] [--seconds 20] [--intervals 5,10,20,100]

Nothing of Millrace's engine runs here. Two source processes and two counting ones stay for the whole run, connected by
Unix sockets; each source sends a barrier after what it has read in an interval, and goes on. A counting process that
has the barriers of both sources writes what has changed of its state to a file and acknowledges the epoch to the
driver, with its results. When the driver has all acknowledgements of an epoch it writes the epoch's metadata (fsync,
rename), and only then makes its results visible, in the order of epochs. So a crash at any step goes back to the last
metadata: what is measured has the cost of exactly once, but recovery is not part of it.

The latency of an event is from its making to the moment that its result is visible. Every count is checked.
"""

from __future__ import annotations

import argparse
import marshal
import os
import select
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Process

WIDTH, KEYS = 2, 100


class Wire:
    """Messages over a socket."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._buffer = bytearray()

    def send(self, message: object) -> None:
        data = marshal.dumps(message)
        self.end.sendall(len(data).to_bytes(4, "big") + data)

    def receive(self) -> Iterator[tuple[object, ...]]:
        """What one read brings."""
        part = self.end.recv(1 << 16)
        if not part:
            raise EOFError
        self._buffer += part
        while len(self._buffer) >= 4 and len(self._buffer) >= (size := int.from_bytes(self._buffer[:4], "big")) + 4:
            message = marshal.loads(bytes(self._buffer[4 : size + 4]))
            del self._buffer[: size + 4]
            yield message


def source(number: int, rate: float, seconds: float, interval: float, outputs: list[Wire]) -> None:
    """Makes events at a rate of its own clock; a packet a receiver and a barrier at the end of each interval."""
    began, made, epoch = time.time(), 0, 0
    while time.time() - began < seconds:
        epoch += 1
        time.sleep(max(0.0, began + epoch * interval - time.time()))
        packets: list[list[tuple[int, float]]] = [[] for _ in outputs]
        while (moment := began + made / rate) <= time.time():
            key = (made * WIDTH + number) % KEYS
            packets[key % WIDTH].append((key, moment))
            made += 1
        for output, packet in zip(outputs, packets, strict=True):
            output.send(("epoch", number, epoch, packet))
    for output in outputs:
        output.send(("end", number, epoch, []))


def counter(number: int, inputs: list[Wire], driver: Wire, folder: str) -> None:
    """Counts by key; an epoch is complete with the barriers of all sources that have not ended."""
    counts: Counter[int] = Counter()
    waiting: dict[int, dict[int, list[tuple[int, float]]]] = {}
    ends: dict[int, int] = {}
    done = 0
    poller = select.poll()
    by_file = {wire.end.fileno(): wire for wire in inputs}
    for file in by_file:
        poller.register(file, select.POLLIN)
    while len(ends) < len(inputs) or any(epoch > done for epoch in waiting):
        for file, _ in poller.poll():
            try:
                for kind, sender, epoch, packet in by_file[file].receive():
                    if kind == "end":
                        ends[sender] = epoch
                    else:
                        waiting.setdefault(epoch, {})[sender] = packet
            except EOFError:
                poller.unregister(file)
        while (parts := waiting.get(done + 1)) is not None and all(
            sender in parts or ends.get(sender, done + 1) < done + 1 for sender in range(len(inputs))
        ):
            done += 1
            results = []
            for sender in sorted(parts):
                for key, moment in parts[sender]:
                    counts[key] += 1
                    results.append((key, counts[key], moment))
            changed = {key: counts[key] for key, _, _ in results}
            path = os.path.join(folder, f"delta-{number}-{done}")
            with open(path + ".tmp", "wb") as file_:
                file_.write(marshal.dumps(changed))
            os.rename(path + ".tmp", path)
            driver.send((done, results))
            del waiting[done]
    driver.send((0, []))


def run(rate: float, seconds: float, interval: float) -> tuple[list[float], int]:
    """Latencies in ms, and the number of events."""
    pairs = [[socket.socketpair() for _ in range(WIDTH)] for _ in range(WIDTH)]
    acks = [socket.socketpair() for _ in range(WIDTH)]
    with tempfile.TemporaryDirectory(prefix="millrace-long-stages-") as folder:
        sources = [
            Process(target=source, args=(s, rate / WIDTH, seconds, interval, [Wire(a) for a, _ in pairs[s]]))
            for s in range(WIDTH)
        ]
        counters = [
            Process(target=counter, args=(c, [Wire(pairs[s][c][1]) for s in range(WIDTH)], Wire(acks[c][0]), folder))
            for c in range(WIDTH)
        ]
        for process in (*counters, *sources):
            process.start()
        latencies, seen = commit([Wire(end) for _, end in acks], folder)
        for process in (*sources, *counters):
            process.join()
            assert process.exitcode == 0
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen.values()), "lost or doubled"
    return latencies, sum(map(len, seen.values()))


def commit(wires: list[Wire], folder: str) -> tuple[list[float], dict[int, list[int]]]:
    """The driver: epochs become visible one after the other, each when all have acknowledged it."""
    acks: dict[int, list[list[tuple[int, int, float]]]] = {}
    latencies: list[float] = []
    seen: dict[int, list[int]] = {}
    done, ended = 0, 0
    poller = select.poll()
    by_file = {wire.end.fileno(): wire for wire in wires}
    for file in by_file:
        poller.register(file, select.POLLIN)
    while ended < len(wires):
        for file, _ in poller.poll():
            for epoch, results in by_file[file].receive():
                if epoch:
                    acks.setdefault(epoch, []).append(results)
                else:
                    ended += 1
                    poller.unregister(file)
        while len(acks.get(done + 1, ())) == len(wires):
            done += 1
            path = os.path.join(folder, "metadata")
            with open(path + ".tmp", "wb") as file_:
                file_.write(marshal.dumps(done))
                file_.flush()
                os.fsync(file_.fileno())
            os.rename(path + ".tmp", path)
            now = time.time()
            for results in acks.pop(done):
                for key, count, moment in results:
                    seen.setdefault(key, []).append(count)
                    latencies.append((now - moment) * 1000)
    return latencies, seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=1000, help="events a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--intervals", default="5,10,20,100", help="ms between barriers")
    arguments = parser.parse_args()
    for interval in map(float, arguments.intervals.split(",")):
        latencies, events = run(arguments.rate, arguments.seconds, interval / 1000)
        cuts = statistics.quantiles(latencies, n=100)
        found = f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms"
        print(f"barrier every {interval:g} ms, {events} events: {found}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
