"""The REST API with 100 jobs known: how long answers take at 20 requests a second, and what the server's memory is.

    python -m benchmarks.rest_load [--seconds 300] [--rate 20]

Three jobs run and change every second, one of them with 60 vertices; 97 have ended. The server is a process of its own.
The baseline is /config, which looks at no job: what lies above it is what jobs cost.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import statistics
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import httpx

VERTICES = 60
JOB = f"{1:032x}"


def serve(line: Connection) -> None:
    """The server: tells its address and waits until it is ended."""
    from tests.cluster.rest.samples import SampleHolder, sample_job

    from millrace.cluster.rest.app import make_app
    from millrace.cluster.rest.serving import RestServer
    from millrace.cluster.rest.settings import Binding, RestSettings

    running = [sample_job(1, vertices=VERTICES, parallelism=4), sample_job(2, vertices=8), sample_job(3, vertices=3)]
    holder = SampleHolder([*running, *[sample_job(each, "FINISHED", vertices=5) for each in range(4, 101)]])

    def change() -> None:
        while True:
            for job in running:
                vertices = [replace(each, subtasks=(*each.subtasks,)) for each in job.vertices]
                holder.put(replace(job, written=int(time.time() * 1000), vertices=tuple(vertices)))
            time.sleep(1)

    threading.Thread(target=change, daemon=True).start()
    server = RestServer(make_app(holder, None, RestSettings()), Binding(ports=[0]))
    line.send(server.address)
    server.run()


def memory(pid: int, name: str) -> float:
    """``VmRSS`` or ``VmHWM`` in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def paths() -> Sequence[str]:
    """What the dashboard asks for."""
    vertex = f"{30:016x}{'5eed' * 4}"
    one = f"/jobs/{JOB}"
    return (
        "/config",
        "/overview",
        "/jobs/overview",
        one,
        f"{one}/checkpoints",
        f"{one}/exceptions",
        f"{one}/vertices/{vertex}",
        f"{one}/vertices/{vertex}/subtasks/metrics?get=busyTimeMsPerSecond,numRecordsInPerSecond",
        f"{one}/vertices/{vertex}/backpressure",
        f"{one}/vertices/{vertex}/watermarks",
        "/taskmanagers",
        f"/millrace{one}",
        "/millrace/jobs",
    )


def percentile(times: Sequence[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent - 1] if len(times) > 1 else times[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0)
    given = parser.parse_args()
    near, far = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(far,), daemon=True)
    server.start()
    address = near.recv()
    taken: dict[str, list[float]] = {path: [] for path in paths()}
    with httpx.Client(base_url=address, timeout=30) as client, ThreadPoolExecutor(16) as pool:

        def ask(path: str, due: float) -> None:
            client.get(path).raise_for_status()
            taken[path].append((time.monotonic() - due) * 1000)  # waiting for a thread counts, too

        client.get("/config")
        begin = time.monotonic()
        for number, path in enumerate(itertools.cycle(paths())):
            due = begin + number / given.rate
            if due - begin > given.seconds:
                break
            time.sleep(max(0.0, due - time.monotonic()))
            pool.submit(ask, path, due)
    for path, times in taken.items():
        shown = path.replace(JOB, "{jobid}")
        print(f"{percentile(times, 50):7.1f} ms p50 {percentile(times, 99):7.1f} ms p99  {shown}")
    every = [each for times in taken.values() for each in times]
    print(f"{percentile(every, 50):7.1f} ms p50 {percentile(every, 99):7.1f} ms p99  all {len(every)} requests")
    assert server.pid is not None
    print(f"{memory(server.pid, 'VmRSS'):7.0f} MB now, {memory(server.pid, 'VmHWM'):.0f} MB at most")
    server.terminate()
    server.join(30)


if __name__ == "__main__":
    main()
