"""An hour of a shop: events from Kafka, names from a database, results in OpenSearch, as in ``make demo-search``.

    python -m benchmarks.shop_hour [--minutes 60] [--rate 2000]

Events come at ``rate`` a second, with the time at which they are sent; the job is that of
``examples/user_behavior_search.py``, in a process of its own, with a checkpoint every ten seconds. Every few seconds
the buys that OpenSearch has by category are added up: the lag is the age of the first buy that is missing there, with
the second that the sink gathers rows for. The memory of all processes of the job is that of the last quarter beside the
second's. In the end no buy may be missing, or counted twice. Wanted: a lag (99 of 100) below ``BAR_LAG`` seconds, and
memory that grows by less than ``BAR_MEMORY``.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

import psutil
from confluent_kafka import Producer

from benchmarks.kafka_latency import megabytes
from benchmarks.start import processor_seconds
from millrace.testing.services import Kafka, MariaDB, OpenSearch

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import user_behavior
import user_behavior_search as search

BAR_LAG, BAR_MEMORY = 2.0, 1.05
USERS, WARM_SECONDS, EVERY_SECONDS = 50_000, 60, 5
TOPIC = "user_behavior"
END_SECONDS = 60


class Events(threading.Thread):
    """Sends events, and knows when which buy was sent."""

    def __init__(self, bootstrap: str, rate: int, until: float) -> None:
        super().__init__(daemon=True)
        self.buys: list[float] = []
        """when each was sent"""
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._rate, self._until = rate, until

    def run(self) -> None:
        draw, begin, number = random.Random(7), time.time(), 0
        behaviors, weights = list(user_behavior.BEHAVIORS), list(user_behavior.BEHAVIORS.values())
        while (now := time.time()) < self._until:
            at = datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            while number < (now - begin) * self._rate:
                behavior = draw.choices(behaviors, weights)[0]
                category = draw.randrange(len(user_behavior.CATEGORIES))
                event = {"user_id": draw.randrange(USERS), "item_id": category * 1000 + draw.randrange(1000),
                         "category_id": category, "behavior": behavior, "ts": at}  # fmt: skip
                self._producer.produce(TOPIC, json.dumps(event), partition=number % search.PARTITIONS)
                if behavior == "buy":
                    self.buys.append(now)
                number += 1
            self._producer.poll(0)
            time.sleep(0.01)
        self._producer.flush()


def job(given: list[str]) -> None:
    """What is measured, in a process of its own."""
    bootstrap, database, user, password, url = given
    search.TABLES = search.TABLES.replace("'scan.bounded.mode' = 'latest-offset', ", "")
    where = argparse.Namespace(jdbc_url=database, user=user, password=password)
    folder = tempfile.mkdtemp(prefix="millrace-shop-")
    settings = {"execution.checkpointing.interval": "10 s", "execution.checkpointing.dir": folder}
    made = search.statements(bootstrap, TOPIC, where, url, settings=settings)  # type: ignore[arg-type]  has what it reads
    made.execute().wait()


def counted(url: str) -> int:
    """The buys that OpenSearch has; documents are read by their ids, which needs no refresh."""
    names = [*sorted(set(search.PARENTS.values())), "Other"]
    body = json.dumps({"ids": names}).encode()
    request = urllib.request.Request(f"{url}/top_category/_mget", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        found = json.load(answer)["docs"]
    return sum(each["_source"]["buy_cnt"] for each in found if each.get("found"))


def lag(buys: list[float], have: int) -> float:
    """Seconds since the first buy that is missing was sent."""
    return time.time() - buys[have] if have < len(buys) else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--job", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(given.job)
        return 0
    with ExitStack() as stack:
        kafka = stack.enter_context(Kafka())
        database = stack.enter_context(MariaDB())
        store = stack.enter_context(OpenSearch())
        search.write_topic(kafka.bootstrap, TOPIC, [])
        search.write_categories(database)
        arguments = [kafka.bootstrap, database.jdbc_url, database.user, database.password, store.url]
        command = [sys.executable, "-m", "benchmarks.shop_hour", "--job", *arguments]
        running = subprocess.Popen(command)
        try:
            return watched(running, kafka.bootstrap, store.url, given.minutes * 60, given.rate)
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in psutil.Process(running.pid).children(recursive=True):
                    each.kill()
            running.kill()


def watched(running: subprocess.Popen[bytes], bootstrap: str, url: str, seconds: float, rate: int) -> int:
    events = Events(bootstrap, rate, time.time() + WARM_SECONDS + seconds)
    events.start()
    time.sleep(WARM_SECONDS)
    begin, spent = time.time(), processor_seconds(running.pid)
    lags: list[float] = []
    memory: list[dict[str, float]] = []
    while events.is_alive():
        time.sleep(EVERY_SECONDS)
        if running.poll() is not None:
            raise SystemExit(f"the job has ended with {running.returncode}")
        lags.append(lag(events.buys, counted(url)))
        memory.append(megabytes(running))
        if len(memory) % 60 == 0:
            total, worst = sum(memory[-1].values()), max(lags[-60:])
            print(f"{(time.time() - begin) / 60:.0f} min: lag {lags[-1]:.2f} s, at most {worst:.2f}; {total:.0f} MB",
                  flush=True)  # fmt: skip
    cores = (processor_seconds(running.pid) - spent) / (time.time() - begin)
    until = time.time() + END_SECONDS
    while (have := counted(url)) != len(events.buys) and time.time() < until:
        time.sleep(1)
    return told(sorted(lags), memory, cores, have, len(events.buys))


def told(lags: list[float], memory: list[dict[str, float]], cores: float, have: int, sent: int) -> int:
    """Print what was found; 1 if it is not what is wanted."""
    worst = lags[int(len(lags) * 0.99)]
    over = len(lags) - bisect.bisect_left(lags, BAR_LAG)
    print(f"lag: median {statistics.median(lags):.2f} s, p99 {worst:.2f}, most {lags[-1]:.2f}; {over} of {len(lags)} "
          f"over {BAR_LAG:g}; {cores:.2f} of a core")  # fmt: skip
    quarter = len(memory) // 4
    second, last = (
        {kind: statistics.median(each.get(kind, 0.0) for each in part) for kind in memory[-1]}
        for part in (memory[quarter : 2 * quarter], memory[3 * quarter :])
    )
    ratio = sum(last.values()) / sum(second.values())
    for kind, size in sorted(last.items()):
        print(f"  {kind}: {second[kind]:.0f} to {size:.0f} MB")
    print(f"memory: {sum(second.values()):.0f} to {sum(last.values()):.0f} MB, ratio {ratio:.3f} (bar {BAR_MEMORY})")
    print(f"buys: {sent:,} sent, {have:,} counted")
    reached = worst < BAR_LAG and ratio < BAR_MEMORY and have == sent
    print("reached" if reached else "NOT reached")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
