"""Options of the source ``mysql``: no server is asked."""

from __future__ import annotations

import pytest

from millrace.cdc.composer import compose
from millrace.cdc.pipeline_file import parse_pipeline
from millrace.cdc.pipeline_sources import MySqlPipelineSource
from millrace.cdc.yaml_tree import PipelineError
from millrace.connectors.cdc.database import StartupOptions
from millrace.connectors.cdc.events import TableId
from millrace.connectors.cdc.mysql.mysql_database import MySqlDatabase

NEEDED = {"hostname": "db", "username": "u", "password": "p", "tables": r"shop.\.*, app.t"}


def source(**given: str | None) -> MySqlPipelineSource:
    options = {**NEEDED, **{name.replace("__", ".").replace("_", "-"): text for name, text in given.items()}}
    lines = "".join(f"  {name}: '{text}'\n" for name, text in options.items() if text is not None)
    found = compose(parse_pipeline(f"source:\n  type: mysql\n{lines}sink: {{type: print}}\n")).source
    assert isinstance(found, MySqlPipelineSource)
    return found


def startup(**given: str) -> StartupOptions:
    return source(**given)._source.startup


def test_where_and_what() -> None:
    found = source(server_id="5400-5404", tables__exclude=r"shop.tmp\.*", server_time_zone="Europe/Berlin")
    database = found._source.database
    assert isinstance(database, MySqlDatabase)
    settings = database.settings
    assert (settings.server_ids, settings.zone) == ((5400, 5404), "Europe/Berlin")
    wanted = [("shop", "orders"), ("app", "t")]
    assert all(settings.wants(TableId("", *each)) for each in wanted)
    assert not any(settings.wants(TableId("", *each)) for each in [("shop", "tmp1"), ("app", "orders")])


def test_where_it_begins() -> None:
    specific = {"scan__startup__mode": "specific-offset"}
    file = {"scan__startup__specific_offset__file": "bin.000003", "scan__startup__specific_offset__pos": "4"}
    assert startup(**specific, **file).offset == {"file": "bin.000003", "pos": 4}
    assert startup(**specific, scan__startup__specific_offset__gtid_set="0-1-5").offset == {"gtids": "0-1-5"}
    assert startup(scan__startup__mode="timestamp", scan__startup__timestamp_millis="17").timestamp == 17


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tables": "a.b.c"}, "is not database.table"),
        ({"server_id": "a-b"}, "'server-id' is a number or a range"),
        ({"scan__newly_added_table__enabled": "true"}, "captures tables that are made while it runs"),
        ({"scan__startup__mode": "committed-offset"}, "'scan.startup.mode' is one of"),
        ({"scan__startup__mode": "specific-offset"}, "needs 'scan.startup.specific-offset.file'"),
        ({"schema_change__enabled": "false"}, "schema.change.behavior: ignore"),
        ({"debezium__x": "1"}, "captures without Debezium"),
    ],
)
def test_options_that_cannot_be(given: dict[str, str | None], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        source(**given)
