"""``python -m millrace.testing.services kafka``: starts a server, says where it is, and stops it with Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from millrace.testing.services.brokers import (
    KAFKA_VERSION,
    Kafka,
    RabbitMQ,
    SchemaRegistry,
    fetch_kafka,
    fetch_registry,
)
from millrace.testing.services.databases import Cassandra, ClickHouse, MariaDB, PostgreSQL, fetch_cassandra
from millrace.testing.services.search import Elasticsearch, OpenSearch
from millrace.testing.services.server import ServiceUnavailable
from millrace.testing.services.small_servers import Aws, Mosquitto, Nats, Redis, SmallServer
from millrace.testing.services.stores import S3, HBase, Hdfs, MongoDb, fetch_hbase, fetch_hdfs, fetch_mongodb, fetch_s3

SMALL: dict[str, tuple[type[SmallServer], str]] = {
    "aws": (Aws, "moto: a stand-in for Kinesis and DynamoDB"),
    "cassandra": (Cassandra, "Cassandra; user and password are cassandra"),
    "clickhouse": (ClickHouse, "ClickHouse; user and password are millrace"),
    "elasticsearch": (Elasticsearch, "Elasticsearch 7.10"),
    "hbase": (HBase, "HBase behind its Thrift server"),
    "mariadb": (MariaDB, "MariaDB; user, password and database are millrace"),
    "mongodb": (MongoDb, "mongo-java-server, which speaks MongoDB's protocol"),
    "mosquitto": (Mosquitto, "Mosquitto, an MQTT broker"),
    "nats": (Nats, "NATS with JetStream"),
    "opensearch": (OpenSearch, "OpenSearch 2.19"),
    "postgres": (PostgreSQL, "PostgreSQL; user and database are postgres"),
    "rabbitmq": (RabbitMQ, "RabbitMQ; user and password are guest"),
    "redis": (Redis, "Redis"),
    "s3": (S3, f"s3proxy, a server of S3; keys are {S3.access_key} and {S3.secret_key}"),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m millrace.testing.services", description=__doc__)
    kinds = parser.add_subparsers(dest="service", required=True)
    kinds.add_parser("fetch", help="fetch what comes from Maven Central, and start nothing")
    kinds.add_parser("registry", help="Apicurio Registry, a schema registry like Confluent's")
    for name, (_, about) in SMALL.items():
        kinds.add_parser(name, help=about)
    kinds.add_parser("hdfs", help="HDFS: a NameNode and a DataNode")
    kafka = kinds.add_parser("kafka", help=f"Apache Kafka {KAFKA_VERSION}")
    kafka.add_argument("--brokers", type=int, default=1)
    kafka.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of every broker")
    given = parser.parse_args(arguments)
    if given.service == "fetch":
        return _fetch()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        if given.service in SMALL:
            with SMALL[given.service][0]() as small:
                print(f"address={small.address}", flush=True)
                ended.wait()
            return 0
        if given.service == "registry":
            with SchemaRegistry() as registry:
                print(f"url={registry.url}", flush=True)
                ended.wait()
            return 0
        if given.service == "hdfs":
            with Hdfs() as hdfs:
                print(f"url={hdfs.url}\nwebhdfs=http://127.0.0.1:{hdfs.web_port}", flush=True)
                ended.wait()
            return 0
        with Kafka(given.brokers, dict(each.split("=", 1) for each in given.set)) as started:
            print(f"bootstrap.servers={started.bootstrap}", flush=True)
            ended.wait()
    except ServiceUnavailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _fetch() -> int:
    code = 0
    heavy = (fetch_s3, fetch_hdfs, fetch_mongodb, OpenSearch.fetch, Elasticsearch.fetch, fetch_hbase, fetch_cassandra)
    for fetch in (fetch_kafka, fetch_registry, *heavy):
        try:
            print(fetch())
        except ServiceUnavailable as error:
            print(error, file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
