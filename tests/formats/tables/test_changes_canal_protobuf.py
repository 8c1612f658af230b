"""``canal-protobuf``: packets made by Canal's own classes, compared with the JSON that Canal makes of them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from tests.formats.tables.driving import context, decode, decoded, schema

from millrace.formats.tables.canal import CanalProtobufFormatFactory
from millrace.relational import types as t
from millrace.util.exceptions import TableException

LINES = (Path(__file__).parents[2] / "data/canal/packets.tsv").read_text().splitlines()
PACKETS = [base64.b64decode(line.split("\t")[0]) for line in LINES]
FLAT = [[json.dumps(each) for each in json.loads(line.split("\t")[1])] for line in LINES]
PRODUCTS = schema(id=t.BigIntType(), name=t.string(), weight=t.DecimalType(10, 2), sold=t.TimestampType(0))
METADATA = ["database", "table", "sql-type", "pk-names", "event-timestamp"]


@pytest.mark.parametrize("number", range(len(PACKETS)))
def test_a_packet_is_what_canal_writes_as_json(number: int) -> None:
    for metadata in ([], METADATA):
        found = decode("canal-protobuf", PRODUCTS, [PACKETS[number]], None, metadata)
        assert found == decode("canal-json", PRODUCTS, FLAT[number], None, metadata)


def test_rows_of_many_packets_know_theirs() -> None:
    found = decoded("canal-protobuf", PRODUCTS, [*PACKETS, None, b"", PACKETS[0]])
    assert Counter(found.messages.tolist()) == {0: 1, 1: 5, 3: 4, 4: 2, 8: 1}
    assert found.skipped == 0
    rows = decode("canal-protobuf", PRODUCTS, PACKETS[:1])
    assert rows == [("+I", (111, "scooter", Decimal("5.15"), dt.datetime(2020, 5, 13, 12, 39, 20)))]


def test_one_table_only() -> None:
    options = {"table.include": "orders"}
    assert [kind for kind, _ in decode("canal-protobuf", PRODUCTS, PACKETS[:2], options)] == ["-D"]


def test_what_a_packet_does_not_have() -> None:
    ((_, row),) = decode("canal-protobuf", schema(id=t.IntType()), PACKETS[:1], None, ["ingestion-timestamp"])
    assert row == (111, None)


def packet(kind: int, compression: int, body: bytes) -> bytes:
    """By hand, field by field."""
    return bytes([3 << 3, kind, 4 << 3, compression, 5 << 3 | 2, len(body)]) + body


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xff\xff", "it is no Packet of Canal's"),
        (packet(3, 1, b""), "it is no packet with changes, but of type 3"),
        (packet(7, 3, b""), "compression 3 of packets is not supported"),
        (packet(7, 1, b"\x12\x05abc"), "it is no Messages of Canal's"),
        (packet(7, 1, b"\x12\x03\xff\xff\xff"), "it is no Entry of Canal's"),
    ],
)
def test_malformed_packets(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=f"table shop: message 1 is malformed: {reason}"):
        decode("canal-protobuf", PRODUCTS, [PACKETS[0], content])
    found = decoded("canal-protobuf", PRODUCTS, [PACKETS[0], content, PACKETS[0]], {"ignore-parse-errors": "true"})
    assert (found.messages.tolist(), found.skipped) == ([0, 2], 1)


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_packets_that_are_cut_off(cut: int) -> None:
    with pytest.raises(ValueError, match="message 0 is malformed"):
        decode("canal-protobuf", PRODUCTS, [PACKETS[1][:-cut]])


def test_values_that_do_not_fit() -> None:
    columns = schema(name=t.IntType())
    with pytest.raises(ValueError, match=r"table shop: message 1 is malformed: .*scooter"):
        decode("canal-protobuf", columns, [PACKETS[2], PACKETS[0]])
    options = {"ignore-parse-errors": "true"}
    assert (
        decoded("canal-protobuf", columns, PACKETS[:1], options).skipped
        == decoded("canal-json", columns, FLAT[0], options).skipped
    )


def test_it_is_only_read() -> None:
    with pytest.raises(TableException, match="'canal-protobuf' is only read; 'canal-json' can be written"):
        CanalProtobufFormatFactory().encoding(context(PRODUCTS))
