"""The guide names every option that a table of a store may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.connectors.cassandra.cassandra_table import CassandraFactory
from millrace.connectors.clickhouse.clickhouse_table import ClickHouseFactory
from millrace.connectors.hbase.hbase_table import HBaseFactory
from millrace.connectors.influxdb.influxdb_table import InfluxFactory
from millrace.connectors.mongodb.mongodb_table import MongoFactory
from millrace.relational.sources import TableFactory

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "stores.md"
EVERYWHERE = ("lookup.", "sink.parallelism", "scan.parallelism", "ordered-writes")
"""what all have, or have under an older name"""


@pytest.mark.parametrize(
    ("section", "factory"),
    [
        ("MongoDB", MongoFactory),
        ("HBase", HBaseFactory),
        ("ClickHouse", ClickHouseFactory),
        ("InfluxDB", InfluxFactory),
        ("Cassandra", CassandraFactory),
    ],
)
def test_every_option_is_there(section: str, factory: type[TableFactory]) -> None:
    text = GUIDE.read_text("utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for option in (*factory.required, *factory.optional):
        if option.startswith(EVERYWHERE):
            continue
        head, _, last = option.rpartition(".")
        # `a.b`, `.c` stands for a.c, `a.*` for all of them
        forms = (f"`{option}`", f"`.{last}`", f"`{option}*`", f"`{option.partition('-')[0]}-*`", f"'{option}'")
        assert any(form in text for form in forms), (section, option, head)
