"""Messages that cannot be read are set aside in files, with the reason; all others are rows, in their order."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.tables.filesystem.tables import context, read, source

from millrace.common.files.file_access import VARIABLE
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.connectors.file_system.table import line_formats
from millrace.connectors.messages import Message
from millrace.connectors.rabbitmq.rabbitmq_table import RabbitMQFactory
from millrace.connectors.redis.redis_table import RedisStreamFactory
from millrace.connectors.tables.message_table import MessageMetadata, RowsDecoder
from millrace.formats.tables.format_options import format_factory
from millrace.formats.tables.message_reading import DEAD_LETTERS, with_dead_letters
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.sources import FormatContext, TableContext
from millrace.util.exceptions import TableException
from millrace.util.skipped import counting_skipped

COLUMNS = (Field("id", t.IntType()),)
BAD = [b"{", b"\xff\xfe", b'{"id": "x"}']


def letters(folder: Path) -> list[dict[str, Any]]:
    """What the files hold, one after the other."""
    found = sorted(folder.iterdir()) if folder.exists() else []
    assert not [file for file in found if file.name.startswith(".")]
    return [json.loads(line) for file in found for line in file.read_text().splitlines()]


def content(letter: dict[str, Any]) -> bytes:
    return letter["message"].encode() if "message" in letter else base64.b64decode(letter["message_base64"])


def decoding(folder: Path, **options: str) -> Any:
    given = FormatContext("t", COLUMNS, {name.replace("_", "-"): value for name, value in options.items()})
    return with_dead_letters(format_factory("json", "t").decoding(given), {DEAD_LETTERS: str(folder)}, "t")


@pytest.mark.parametrize("wrong", [(), (0,), (9,), (0, 1, 2), (3, 7), tuple(range(10))])
def test_each_is_there_once_and_nothing_else_is_missing(tmp_path: Path, wrong: tuple[int, ...]) -> None:
    """The number of its message is told with each row: columns of metadata are taken by it."""
    messages = [BAD[at % 3] if at in wrong else b'{"id": %d}' % at for at in range(10)]
    found = decoding(tmp_path / "letters").decode(pa.array(messages, pa.binary()))
    good = [at for at in range(10) if at not in wrong]
    assert found.rows.batch.column(0).to_pylist() == good
    assert (list(range(10)) if found.messages is None else found.messages.tolist()) == good
    assert found.skipped == len(wrong)
    there = letters(tmp_path / "letters")
    assert [content(each) for each in there] == [messages[at] for at in wrong]
    assert all(each["table"] == "t" and "malformed" in each["error"] for each in there)


def test_metadata_stays_with_its_row(tmp_path: Path) -> None:
    decoder = RowsDecoder(decoding(tmp_path), (0, MessageMetadata("key", t.IntType(), "UTC", t.IntType())))
    values = [b'{"id": 0}', b"{", b'{"id": 2}']
    with counting_skipped() as skipped:
        (rows,), _ = decoder.decode([Message(value, "here", None, {"key": at}) for at, value in enumerate(values)])
    assert [column.to_pylist() for column in rows.columns] == [[0, 2], [0, 2]]
    assert skipped.number == 1


def test_where_they_cannot_be_written_the_job_fails(tmp_path: Path) -> None:
    """Else they would be lost."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        decoding(tmp_path / "file").decode(pa.array([b"{"], pa.binary()))


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableException, match=r"'scan.dead-letter.path' lies in the table's own folder"):
        source(table(tmp_path, str(tmp_path / "letters")))
    with pytest.raises(TableException, match="a file of parquet that is damaged has no single records"):
        source(table(tmp_path, "/elsewhere", "parquet"))
    with pytest.raises(TableException, match=r"with 'json.ignore-parse-errors' nothing is left for 'scan.dead-letter"):
        source(table(tmp_path, "/elsewhere", json_ignore__parse__errors="true"))
    with pytest.raises(TableException, match=r"option 'scan.dead-letter.path'"):
        source(table(tmp_path, "nowhere://x"))


def table(path: Path, letters: str, format: str = "json", **options: str) -> TableContext:
    return context(path, COLUMNS, format=format, **{DEAD_LETTERS: letters}, **options)


def test_connectors_of_messages_have_it() -> None:
    for factory in (RabbitMQFactory(), RedisStreamFactory()):
        assert DEAD_LETTERS in factory.optional


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_table_of_files(tmp_path: Path, format: str) -> None:
    """With the lines in several splits; what cannot be read names its file."""
    lines = [b"%d" % at if at % 5 else b"no number" for at in range(200)]
    if format == "json":
        lines = [b'{"id": %s}' % each for each in lines]
    file = tmp_path / "in" / "file"
    file.parent.mkdir()
    file.write_bytes(b"\n".join(lines) + b"\n")
    folder = tmp_path / "letters"
    found = read(table(file.parent, str(folder), format), parallelism=2)
    assert sorted(found) == [(at,) for at in range(200) if at % 5]
    there = letters(folder)
    assert [content(each) for each in there] == [lines[at] for at in range(0, 200, 5)]
    assert {each["origin"] for each in there} == {str(file)}
    with pytest.raises(ValueError, match="line 1"):
        read(context(file.parent, COLUMNS, format=format))


PAIRS = (Field("id", t.IntType()), Field("s", t.VarCharType(2**31 - 1)))
LIMIT, FETCH = 300, 64


def quoted(chance: random.Random, size: int) -> str:
    """A field of about a size: plain, or in quotes with line ends and quotes in it."""
    letters = chance.choice(["ab", 'a\n"', "a\nb", 'a"', "a,\r\n"])
    text = "".join(chance.choices(letters, k=size))
    return '"' + text.replace('"', '""') + '"' if set(text) - set("ab") else text


@pytest.mark.parametrize("seed", range(30))
def test_records_that_are_too_large_are_set_aside_by_their_beginning(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of CSV with quotes, also such that go on in the next line. A task may begin again behind each batch."""
    monkeypatch.setenv(VARIABLE, str(LIMIT))
    monkeypatch.setattr(line_formats, "FETCH_BYTES", FETCH)
    chance = random.Random(seed)
    sizes = [chance.choice([0, 1, 9, 40, 3000]) for _ in range(25)]
    records = [f"{at},{quoted(chance, size)}" for at, size in enumerate(sizes)]
    file = tmp_path / "in" / "file"
    file.parent.mkdir()
    file.write_text("".join(f"{each}\n" for each in records), newline="")
    folder = tmp_path / "letters"
    format = source(context(file.parent, PAIRS, format="csv", **{DEAD_LETTERS: str(folder)})).format
    split, restarts = FileSplit(str(file), 0, file.stat().st_size), 0
    reading = format.open(split, PAIRS)
    found: list[int] = []
    while (batch := reading.read_batch()) is not None:
        found += [row for rows in batch for row in rows.batch.column(0).to_pylist()]
        if restarts < 10 and chance.random() < 0.3:
            split, restarts = replace(split, position=reading.position()), restarts + 1
            reading.close()
            reading = format.open(split, PAIRS)
    reading.close()
    small = [at for at, each in enumerate(records) if len(each) < LIMIT]
    assert found == small
    large = {at: each for at, each in enumerate(records) if len(each) >= 3000}
    there = sorted(letters(folder), key=lambda each: int(each["message"].split(",")[0]))
    assert [(each["message"], each["length"]) for each in there] == [
        (text[: 1 << 10], len(text.encode())) for text in large.values()
    ]
    assert all("larger than 300 bytes" in each["error"] for each in there)


def test_a_line_of_json_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own encoding it may be cut within a character."""
    monkeypatch.setenv(VARIABLE, str(LIMIT))
    monkeypatch.setattr(line_formats, "FETCH_BYTES", FETCH)
    large = '{"id": 1, "s": "a' + "\N{SNOWMAN}" * 2000 + '"}'
    file = tmp_path / "in" / "file"
    file.parent.mkdir()
    file.write_text(f'{{"id": 0}}\n{large}\n{{"id": 2}}\n{large}')
    folder = tmp_path / "letters"
    assert sorted(read(table(file.parent, str(folder), "json"))) == [(0,), (2,)]
    there = letters(folder)
    assert [each["length"] for each in there] == [len(large.encode())] * 2
    assert all(large.startswith(each["message"]) and len(each["message"]) > 300 for each in there)
    with pytest.raises(Exception, match="a line is larger than 300 bytes"):
        read(context(file.parent, COLUMNS, format="json"))
