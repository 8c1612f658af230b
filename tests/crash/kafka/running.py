"""Runs the job on three brokers, breaks something round after round, and compares what comes out."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec
from tests.crash.points import _owners, _workers
from tests.servers.proxy import Proxy

from millrace.connectors.kafka.kafka_transactions import ONGOING, Transactions
from millrace.testing.services import Kafka
from millrace.testing.services.server import watch

ROOT = Path(__file__).parents[3]
JOB = Path(__file__).with_name("job.py")
KEYS = 7
ROUND_SECONDS = 180
LONG_MS, SHORT_MS = 60_000, 6_000
"""transaction.timeout.ms: longer than anything that happens, and shorter than a process is stopped for"""
AWAY_SECONDS = 30
CONFIGURATION = {
    "execution.checkpointing.interval": "300 ms",
    "millrace.epoch.interval-ms": "100",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000000",
    "restart-strategy.fixed-delay.delay": "100 ms",
}


@contextmanager
def three_brokers() -> Iterator[tuple[Kafka, Proxy]]:
    """Clients reach them through a proxy, they each other without."""
    proxy = Proxy(3)
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    listeners = {"CLIENT": "PLAINTEXT", "INNER": "PLAINTEXT"}
    brokers = Kafka(3, settings, listeners, {"CLIENT": proxy.ports})
    proxy.start(brokers.ports("CLIENT"))
    try:
        with brokers:
            yield brokers, proxy
    finally:
        proxy.stop()


class CrashJob:
    """One job, its topics, and what is known of them.

    :param timeout: of transactions, in ms.
    """

    def __init__(self, brokers: Kafka, proxy: Proxy, folder: Path, seed: int, timeout: int = LONG_MS) -> None:
        self.brokers, self.proxy, self.timeout = brokers, proxy, timeout
        self.chance = random.Random(seed)
        self._admin = AdminClient({"bootstrap.servers": brokers.bootstrap})
        self._producer = Producer({"bootstrap.servers": brokers.bootstrap, "acks": "all", "enable.idempotence": True})
        self._transactions = Transactions({"bootstrap.servers": brokers.bootstrap})
        mark = uuid.uuid4().hex[:8]
        self.source, self.sink = f"in-{mark}", f"out-{mark}"
        for name, partitions in ((self.source, 3), (self.sink, 2)):
            made: Any = NewTopic(name, partitions)
            self._admin.create_topics([made])[name].result()
        self._sent = 0
        self._numbering = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._reader = Consumer({
            "bootstrap.servers": brokers.bootstrap, "group.id": "oracle", "isolation.level": "read_committed",
            "enable.auto.commit": False,
        })  # fmt: skip
        self._reader.assign([TopicPartition(self.sink, each, 0) for each in (0, 1)])
        self._stall, self._order = folder / "stall", folder / "order"
        self._out = folder / "said"
        self._run = self._start(folder)

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        given = {
            "bootstrap": self.brokers.bootstrap, "source": self.source, "sink": self.sink, "timeout": self.timeout,
            "stall": str(self._stall), "order": str(self._order),
        }  # fmt: skip
        configuration = {**CONFIGURATION, "execution.checkpointing.dir": str(folder / "checkpoints")}
        command = [
            *(sys.executable, "-m", "millrace", "run", "-p", "2"),
            *(part for key, value in configuration.items() for part in ("-D", f"{key}={value}")),
            *(str(JOB), json.dumps(given)),
        ]
        around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
        with self._out.open("ab") as out:
            made = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=around, start_new_session=True
            )
        watch(made.pid)  # nothing of it outlives a test run that is killed
        return made

    # -- rounds -------------------------------------------------------------------------------------------------------

    def round(self, kind: str) -> None:
        """Send records, break something meanwhile, and see that each comes out once."""
        breaking: Callable[[], None] = getattr(self, kind)
        sending = threading.Thread(target=self._send, args=(60, 0.02))
        sending.start()
        time.sleep(self.chance.uniform(0.1, 1.2))
        breaking()
        sending.join()
        self._send(20, 0)
        self.check()

    def check(self) -> None:
        """All that was sent is there once, with the counts of its key once."""
        until = time.monotonic() + ROUND_SECONDS
        while self._seen.total() < self._sent:
            assert self._run.poll() is None, f"the job has ended\n{self.said()}"
            assert time.monotonic() < until, f"{self._sent - self._seen.total()} records are missing\n{self.said()}"
            self._read(1.0)
        self._read(0.5)
        assert [each for each, times in self._seen.items() if times > 1] == [], "doubled"
        numbers, counts = set(), defaultdict(set)
        for each in self._seen:
            key, number, count = each.split(":")
            numbers.add(int(number))
            counts[key].add(int(count))
        assert numbers == set(range(self._sent))
        assert all(some == set(range(1, len(some) + 1)) for some in counts.values())

    def finish(self) -> None:
        """End the job: no transaction stays open, and nothing hides."""
        self._order.touch()
        assert self._run.wait(ROUND_SECONDS) == 0, self.said()
        until = time.monotonic() + 60
        while open_ := self._transactions.of_prefix("crashes-", ONGOING):
            assert time.monotonic() < until, f"open: {open_}"
            time.sleep(0.2)
        while (ends := self._ends()) and ends[0] != ends[1]:
            assert time.monotonic() < until, f"something hides records: {ends}"
            time.sleep(0.2)
        self._read(1.0)
        self.check_end()

    def check_end(self) -> None:
        assert self._seen.total() == len(self._seen) == self._sent

    def close(self) -> None:
        """Also after a failure."""
        for process in [*psutil.Process(self._run.pid).children(recursive=True)] if self._run.poll() is None else []:
            process.kill()
        self._run.kill()
        self._run.wait()
        self._reader.close()
        self._transactions.close()

    def said(self) -> str:
        return self._out.read_text()[-4_000:]

    def _send(self, count: int, pause: float) -> None:
        for _ in range(count):
            self._produce(-1)
            self._producer.poll(0)
            time.sleep(pause)
        until = time.monotonic() + ROUND_SECONDS
        while left := self._producer.flush(1):
            assert time.monotonic() < until, f"{left} records are not taken by the brokers"

    def _produce(self, partition: int) -> None:
        with self._numbering:
            self._producer.produce(self.source, f"{self._sent % KEYS}:{self._sent}", partition=partition)
            self._sent += 1

    def _read(self, seconds: float) -> None:
        for message in self._reader.consume(1_000, seconds):
            if message.error() is None:
                self._seen[message.value().decode()] += 1

    def _ends(self) -> list[dict[int, int]]:
        found = []
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
            asked = {TopicPartition(self.sink, each): OffsetSpec.latest() for each in (0, 1)}
            answers = self._admin.list_offsets(asked, isolation_level=level)
            found.append({at.partition: each.result().offset for at, each in answers.items()})
        return found

    # -- what breaks --------------------------------------------------------------------------------------------------

    def driver(self) -> None:
        if not self._seen:
            self._some(_owners)  # a driver that dies before its job runs ends the command
        self._driver().kill()

    def worker(self) -> None:
        self._some(_workers).kill()

    def owner(self) -> None:
        self._some(_owners).kill()

    def broker(self) -> None:
        number = self.chance.randrange(3)
        self.brokers.brokers[number].kill()
        time.sleep(self.chance.uniform(0.5, 4))
        self.brokers.restart(number)

    def stopped(self) -> None:
        """A task stands still until its transaction is aborted."""
        owner = self._some(_owners)
        owner.send_signal(signal.SIGSTOP)
        time.sleep(SHORT_MS / 1000 + 2)
        owner.send_signal(signal.SIGCONT)

    def network(self) -> None:
        self.proxy.cut()
        time.sleep(AWAY_SECONDS)
        self.proxy.mend()

    def partition(self) -> None:
        now = len(self._admin.list_topics(self.source).topics[self.source].partitions)
        made: Any = NewPartitions(self.source, now + 1)
        self._admin.create_partitions([made])[self.source].result()
        until = time.monotonic() + ROUND_SECONDS
        while True:
            try:
                self._produce(now)
            except KafkaException:
                assert time.monotonic() < until, "the producer does not hear of the partition"
                self._producer.list_topics(self.source)
                time.sleep(0.1)
            else:
                return

    def coordinator(self) -> None:
        """The broker that knows the transaction dies when it is about to be committed."""
        self._stall.touch()
        waits = self._stall.with_name(f"{self._stall.name}-waits")
        until = time.monotonic() + ROUND_SECONDS
        while not (waits.exists() and waits.read_text()):
            assert time.monotonic() < until, f"no commit comes\n{self.said()}"
            time.sleep(0.05)
        name = self.chance.choice(waits.read_text().split())
        number = self._transactions.coordinator(name) - 1
        self.brokers.brokers[number].kill()
        self._stall.unlink()
        time.sleep(self.chance.uniform(0, 2))
        self.brokers.restart(number)
        waits.unlink()

    def _driver(self) -> psutil.Process:
        until = time.monotonic() + ROUND_SECONDS
        while True:
            for each in psutil.Process(self._run.pid).children():
                if any("java" in child.name() for child in each.children()):
                    return each
            assert time.monotonic() < until, f"no driver\n{self.said()}"
            time.sleep(0.05)

    def _some(self, find: Callable[[psutil.Process], list[psutil.Process]]) -> psutil.Process:
        until = time.monotonic() + ROUND_SECONDS
        while not (found := find(self._driver())):
            assert time.monotonic() < until, f"no such process\n{self.said()}"
            time.sleep(0.05)
        return self.chance.choice(found)


KINDS = {
    "driver": LONG_MS, "worker": LONG_MS, "owner": LONG_MS, "broker": LONG_MS, "stopped": SHORT_MS,
    "network": LONG_MS, "partition": LONG_MS, "coordinator": LONG_MS,
}  # fmt: skip
"""kind -> the time-out of transactions in its job (ms)"""
