"""Slow functions: when results are seen, whether checkpoints go on, and how soon a job hears that it shall end.

    python -m benchmarks.slow_steps [--shape a,d-1s] [--seconds 20] [--end stop|int] [--records 1000000]
                                    [--set millrace.epoch.execution=resident] [--list]

Each shape is a job in a process of its own (slow_shapes.py) with two cores, or four; before it a first job has run on
the same session, so Spark's start does not count. What it prints is stamped as it arrives; lines of one moment are one
output. After so many seconds it is stopped with a savepoint, or by Ctrl-C; the shapes take turns in that unless --end
says which. The letter is where it is slow, the rest how long a record takes: a behind the source, b behind a key_by, c
last of three stages, d in one subtask of four, e in a sink, f by turns 1 us and 100 ms, g in async calls (ten at a
time), h behind a source function that floods, i behind --records of Kafka; these take a checkpoint a second. Without
any: j 200/s from a source function that take 20 ms each, k 400 records of 100 ms (to the end), l windows of a second.

Wanted of each: the first output within 2 s (3 s where a record takes 1 s), gaps between outputs of 1.5 s at most
(p99), checkpoints 3 s apart at most and two records more for each input channel, an end 2 s and a record after it was
asked for (the savepoint is there; with Ctrl-C the process is gone), no timeout, no traceback, and memory (PSS of all
its processes) that is at the end at most 1.2 times that after a third of the time; l's results within 1 s of their
window's end (p99). What misses has a "!". Ends with 1 if one fails. All shapes take a quarter of an hour if all is
well.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.slow_shapes import MARK, PARTITIONS, SHAPES, TOPIC, Shape
from millrace.testing.services import Kafka

FIRST, FIRST_OF_LONG, GAP, CHECKPOINT, HEARD, GROWTH, LATE = 2.0, 3.0, 1.5, 3.0, 2.0, 1.2, 1.0
MOMENT = 0.02
"""s that lines of one output may be apart"""
START_SECONDS, DEAF_SECONDS, LONGEST_END = 120.0, 30.0, 90.0
BROKEN = ("did not end within", "Traceback (most recent call last)")
ENDS = ("stop", "int")


@dataclass
class Run:
    """What was seen of a process."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    marks: dict[str, float] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    """everything, in both streams"""
    checkpoints: dict[str, float] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    asked: float = 0.0
    heard: float | None = None
    ended: float | None = None

    def read(self, process: subprocess.Popen[str]) -> None:
        """Until its end."""
        assert process.stdout is not None
        for line in process.stdout:
            now = time.time()
            self.said.append(line)
            if line.startswith(MARK):
                self.marks.setdefault(line.split()[1], now)
            elif line[0].isdigit() and "> " in line:  # as print() writes them
                self.lines.append((now, line.partition("> ")[2].strip()))

    def watch(self, folder: Path, over: threading.Event) -> None:
        """Note checkpoints; only the last one is there at a time."""
        while not over.wait(0.05):
            for each in folder.glob("*/chk-*/_metadata"):
                with contextlib.suppress(OSError):
                    self.checkpoints.setdefault(str(each), each.stat().st_mtime)

    def outputs(self) -> list[float]:
        """When there was something new, from the job's begin to its end."""
        found: list[float] = []
        for at, _ in self.lines:
            if self.marks["began"] <= at <= self.asked and (not found or at - found[-1] > MOMENT):
                found.append(at)
        return found


def tree(process: subprocess.Popen[str]) -> list[psutil.Process]:
    try:
        own = psutil.Process(process.pid)
        return [own, *own.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def of_session(leader: int) -> list[psutil.Process]:
    """Also those whose parents have ended."""
    found = []
    for each in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.getsid(each.pid) == leader:
                found.append(each)
    return found


def megabytes(processes: Sequence[psutil.Process]) -> float:
    """Shared pages divided."""
    total = 0.0
    for each in processes:
        with contextlib.suppress(psutil.Error):
            total += each.memory_full_info().pss / 2**20
    return total


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process with a group of its own, as in a terminal; whatever is left of it at the end is killed."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        left = [*tree(process), *of_session(process.pid)]
        for each in left:
            with contextlib.suppress(psutil.Error):
                each.kill()
        process.wait()
        psutil.wait_procs(left, 10)


def wait_for(process: subprocess.Popen[str], run: Run, mark: str, seconds: float) -> bool:
    until = time.time() + seconds
    while mark not in run.marks and time.time() < until and process.poll() is None:
        time.sleep(0.01)
    return mark in run.marks


def end(process: subprocess.Popen[str], run: Run, how: str) -> None:
    """Ask for an end, and wait until it is heard."""
    run.asked = time.time()
    if how == "int":
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(DEAF_SECONDS)
            run.heard = time.time() - run.asked
        return
    assert process.stdin is not None
    process.stdin.write("stop\n")
    process.stdin.flush()
    if wait_for(process, run, "heard", DEAF_SECONDS):
        run.heard = run.marks["heard"] - run.asked
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(DEAF_SECONDS)


def observed(name: str, how: str, given: argparse.Namespace, kafka: str, folder: Path) -> Run:
    shape, run = SHAPES[name], Run()
    command = [sys.executable, "-m", "benchmarks.slow_shapes", name, str(folder), "--kafka", kafka]
    over = threading.Event()
    with started([*command, *(f"--set={each}" for each in given.set)]) as process:
        reading = threading.Thread(target=run.read, args=(process,))
        watching = threading.Thread(target=run.watch, args=(folder / "checkpoints", over))
        reading.start()
        watching.start()
        if wait_for(process, run, "began", START_SECONDS):
            while (passed := time.time() - run.marks["began"]) < (LONGEST_END if shape.ends else given.seconds):
                if process.poll() is not None or "ended" in run.marks:
                    break
                if not run.memory and passed > given.seconds / 3:
                    run.memory.append(megabytes(tree(process)))
                time.sleep(0.05)
            run.memory.append(megabytes(tree(process)))
            run.ended = run.marks.get("ended", time.time() if process.poll() is not None else None)
            run.asked = time.time()
            if run.ended is None:
                end(process, run, how)
        over.set()
        watching.join()
        said = len(run.said)  # what is told when it is killed does not count
    reading.join()
    del run.said[said:]
    return run


def p99(found: Sequence[float]) -> float:
    return sorted(found)[int(len(found) * 0.99)]


class Verdict:
    """The figures of a line."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.good = True

    def say(self, text: str, good: bool = True) -> None:
        self.words.append(text if good else f"{text}!")
        self.good = self.good and good


def between(moments: Sequence[float], until: float) -> list[float]:
    """How far apart they are; the time since the last counts if nothing was longer."""
    found = [after - before for before, after in itertools.pairwise(moments)]
    last = until - moments[-1]
    return [*found, last] if not found or last > max(found) else found


def judged(shape: Shape, run: Run, how: str) -> Verdict:
    told = Verdict()
    if "began" not in run.marks:
        told.say("did not start", False)
        return told
    began, outputs = run.marks["began"], run.outputs()
    until = run.ended or run.asked
    most = FIRST_OF_LONG if shape.record >= 1 else FIRST
    if outputs:
        first = outputs[0] - began
        told.say(f"first {first:4.1f} s (bar {most:.0f})", first <= most)
        gaps = between(outputs, until)
        p50, worst = statistics.median(gaps), p99(gaps)
        told.say(f"gaps {p50:4.2f} p99 {worst:5.2f} max {max(gaps):5.2f} (p99 {GAP})", worst <= GAP)
    else:
        told.say(f"no output in {until - began:.0f} s", False)
    if shape.windows:
        late = [at - int(text) / 1000 for at, text in run.lines if began <= at <= until and text.isdigit()]
        if late:
            told.say(f"late {statistics.median(late):.2f} p99 {p99(late):.2f} ({LATE:.0f})", p99(late) <= LATE)
    if shape.checkpoints:
        done = sorted(at for at in run.checkpoints.values() if began <= at <= until)
        apart, bar = between([began, *done], until), CHECKPOINT + 2 * shape.channels * shape.record
        text = f"{len(done)} checkpoints {statistics.median(apart):4.1f} max {max(apart):4.1f} ({bar:.1f})"
        told.say(text, bool(done) and max(apart) <= bar)
    if run.ended is not None:
        told.say(f"over after {run.ended - began:.1f} s", shape.ends and "ended" in run.marks)
    elif run.heard is None:
        failed = [line.split(maxsplit=2)[2].strip() for line in run.said if line.startswith(f"{MARK} failed")]
        told.say(f"{how} {'failed: ' + failed[0] if failed else f'not heard in {DEAF_SECONDS:.0f} s'}", False)
    else:
        told.say(f"{how} heard {run.heard:4.1f} s ({HEARD + shape.record:.1f})", run.heard <= HEARD + shape.record)
    if len(run.memory) == 2:
        first, last = run.memory
        told.say(f"memory {first:.0f} to {last:.0f} MB", last <= GROWTH * first)
    for each in BROKEN:
        if any(each in line for line in run.said):
            told.say(f"said '{each}'", False)
    return told


def fill(kafka: Kafka, records: int) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 50})
    for number in range(records):
        while True:
            try:
                producer.produce(TOPIC, str(number), partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()


def chosen(wanted: str | None) -> list[str]:
    """Names of shapes; a letter stands for all that begin with it."""
    asked = wanted.split(",") if wanted else list(SHAPES)
    for each in asked:
        if not any(each in (name, name.partition("-")[0]) for name in SHAPES):
            raise SystemExit(f"there is no shape {each}: {', '.join(SHAPES)}")
    return [name for name in SHAPES if name in asked or name.partition("-")[0] in asked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", help="which, or their letters")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--end", choices=ENDS, help="how each is ended; without it they take turns")
    parser.add_argument("--records", type=int, default=1_000_000, help="that wait in Kafka")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="more configuration")
    parser.add_argument("--said", action="store_true", help="print what shapes that failed have said, but for results")
    parser.add_argument("--list", action="store_true", help="print the shapes")
    given = parser.parse_args()
    if given.list:
        for name, shape in SHAPES.items():
            print(f"{name:6} {shape.what}")
        return
    # What a shell starts in the background ignores Ctrl-C, and so would all that this starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failed = []
    with contextlib.ExitStack() as stack:
        kafka = ""
        names = chosen(given.shape)
        if "i" in names:
            broker = stack.enter_context(Kafka(java_options=("-Xmx768m",)))
            fill(broker, given.records)
            kafka = broker.bootstrap
        for name in names:
            how = given.end or ENDS[list(SHAPES).index(name) % len(ENDS)]
            with tempfile.TemporaryDirectory(prefix="millrace-slow-", ignore_cleanup_errors=True) as folder:
                run = observed(name, how, given, kafka, Path(folder))
            told = judged(SHAPES[name], run, how)
            print(f"{name:6} {', '.join(told.words)}  {'OK' if told.good else 'FAIL'}", flush=True)
            if not told.good:
                failed.append(name)
                if given.said:
                    print("".join(f"    {line}" for line in run.said if not line[0].isdigit()), flush=True)
    print(f"{len(failed)} failed{': ' if failed else ''}{', '.join(failed)}", end=" ")
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
