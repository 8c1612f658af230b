"""``python -m millrace.testing.services kafka``: starts a server, says where it is, and stops it with Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from millrace.testing.services.kafka import VERSION, Kafka
from millrace.testing.services.problems import ServiceUnavailable


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m millrace.testing.services", description=__doc__)
    kinds = parser.add_subparsers(dest="service", required=True)
    kafka = kinds.add_parser("kafka", help=f"Apache Kafka {VERSION}")
    kafka.add_argument("--brokers", type=int, default=1)
    kafka.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of every broker")
    given = parser.parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with Kafka(given.brokers, dict(each.split("=", 1) for each in given.set)) as started:
            print(f"bootstrap.servers={started.bootstrap}", flush=True)
            ended.wait()
    except ServiceUnavailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
