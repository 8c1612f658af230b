"""Options of the source ``postgres``: no server is asked."""

from __future__ import annotations

import pytest

from millrace.cdc.composer import compose
from millrace.cdc.pipeline_file import parse_pipeline
from millrace.cdc.pipeline_sources import PostgresPipelineSource
from millrace.cdc.yaml_tree import PipelineError
from millrace.connectors.cdc.database import StartupMode
from millrace.connectors.cdc.postgres.postgres_database import PostgresDatabase

NEEDED = {"hostname": "db", "username": "u", "password": "p", "tables": r"shop.app.\.*", "slot.name": "s"}


def source(**given: str | None) -> PostgresPipelineSource:
    options = {**NEEDED, **{name.replace("__", ".").replace("_", "-"): text for name, text in given.items()}}
    lines = "".join(f"  {name}: '{text}'\n" for name, text in options.items() if text is not None)
    found = compose(parse_pipeline(f"source:\n  type: postgres\n{lines}sink: {{type: print}}\n")).source
    assert isinstance(found, PostgresPipelineSource)
    return found


def database(**given: str | None) -> PostgresDatabase:
    found = source(**given)._source.database
    assert isinstance(found, PostgresDatabase)
    return found


def test_where_and_what() -> None:
    settings = database(heartbeat__interval="5s").settings
    assert settings.target.hosts == (("db", 5432),) and settings.target.database == "shop"
    assert (settings.slot, settings.heartbeat, settings.autocreate) == ("s", 5.0, "filtered")
    assert settings.wants("app", "orders") and not settings.wants("other", "orders")


def test_several_tables_and_others_not() -> None:
    settings = database(
        tables=r"shop.app.orders_\.*, shop.[a|b]x.t", tables__exclude=r"shop.app.orders_tmp\.*"
    ).settings
    wanted = [("app", "orders_1"), ("ax", "t"), ("bx", "t")]
    assert all(settings.wants(*each) for each in wanted)
    assert not any(settings.wants(*each) for each in [("app", "orders_tmp1"), ("app", "t"), ("cx", "t")])


def test_where_it_begins() -> None:
    assert source().is_unbounded
    assert not source(scan__startup__mode="snapshot").is_unbounded
    found = source(scan__startup__mode="specific-offset", scan__startup__specific_offset="0/16B3748")._source.startup
    assert (found.mode, found.offset) == (StartupMode.SPECIFIC_OFFSETS, "0/16B3748")


def test_chunks() -> None:
    found = source(
        scan__incremental__snapshot__chunk__size="100",
        scan__incremental__snapshot__chunk__key_column="app.orders:no;app.items:id",
    )._source
    assert found.chunking.rows == 100 and found.chunk_columns == {"app.orders": "no", "app.items": "id"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slot__name": None}, "needs 'slot.name'"),
        ({"slot__name": "Big"}, "small letters"),
        ({"tables": "app.orders"}, "is not database.schema.table"),
        ({"tables": "a.x.t, b.x.t"}, "names one database"),
        ({"tables": r"\.*.x.t"}, "names one database"),
        ({"decoding__plugin__name": "decoderbufs"}, "pgoutput only"),
        ({"scan__startup__mode": "timestamp"}, "'scan.startup.mode' is one of initial"),
        ({"scan__startup__mode": "specific-offset"}, "needs 'scan.startup.specific-offset'"),
        ({"debezium__snapshot__mode": "never"}, "captures without Debezium"),
        ({"metadata__list": "op_ts, lsn"}, "there is op_ts, and no lsn"),
        ({"hostnam": "x"}, "did you mean 'hostname'"),
    ],
)
def test_options_that_cannot_be(given: dict[str, str | None], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        source(**given)


@pytest.mark.parametrize(
    ("kind", "said"), [("oracle", "Debezium's connector"), ("postgresql", "did you mean 'postgres'")]
)
def test_other_sources(kind: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        compose(parse_pipeline(f"source: {{type: {kind}}}\nsink: {{type: print}}\n"))
