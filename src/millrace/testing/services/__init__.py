"""Real servers for tests, demos and benchmarks: started here, on loopback, in folders of their own, and stopped again.

``python -m millrace.testing.services kafka`` starts one by hand. Needs the standard library, and Java where a server is
in Java; its jars are fetched once, into ``~/.cache/millrace`` (or ``MILLRACE_SERVICES``).
"""

from __future__ import annotations

from millrace.testing.services.brokers import Kafka, RabbitMQ, SchemaRegistry
from millrace.testing.services.databases import Cassandra, ClickHouse, MariaDB, PostgreSQL
from millrace.testing.services.search import Elasticsearch, OpenSearch
from millrace.testing.services.server import ServiceUnavailable
from millrace.testing.services.small_servers import Aws, Mosquitto, Nats, Redis
from millrace.testing.services.stores import S3, HBase, Hdfs, MongoDb

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
