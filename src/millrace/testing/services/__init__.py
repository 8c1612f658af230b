"""Real servers for tests, demos and benchmarks: started here, on loopback, in folders of their own, and stopped again.

``python -m millrace.testing.services kafka`` starts one by hand. Needs the standard library, and Java where a server is
in Java; its jars are fetched once, into ``~/.cache/millrace`` (or ``MILLRACE_SERVICES``).
"""

from __future__ import annotations

from millrace.testing.services.apicurio import SchemaRegistry
from millrace.testing.services.cassandra import Cassandra
from millrace.testing.services.clickhouse import ClickHouse
from millrace.testing.services.hbase import HBase
from millrace.testing.services.hdfs import Hdfs
from millrace.testing.services.kafka import Kafka
from millrace.testing.services.mariadb import MariaDB
from millrace.testing.services.mongodb import MongoDb
from millrace.testing.services.postgresql import PostgreSQL
from millrace.testing.services.problems import ServiceUnavailable
from millrace.testing.services.rabbitmq import RabbitMQ
from millrace.testing.services.s3 import S3
from millrace.testing.services.search import Elasticsearch, OpenSearch
from millrace.testing.services.small import Aws, Mosquitto, Nats, Redis

__all__ = [
    "Aws",
    "Cassandra",
    "ClickHouse",
    "Elasticsearch",
    "HBase",
    "Hdfs",
    "Kafka",
    "MariaDB",
    "MongoDb",
    "Mosquitto",
    "Nats",
    "OpenSearch",
    "PostgreSQL",
    "RabbitMQ",
    "Redis",
    "S3",
    "SchemaRegistry",
    "ServiceUnavailable",
]
