"""Files that were made to do harm, read by three executors in batch mode: one error that names the file."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.formats.test_hostile_files import MEGA, lie, write, zeros
from tests.rings import TAKES_DRAWS
from tests.spark.tables.hostile import LIMIT, QUERIES

from millrace.common.files.file_access import VARIABLE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ROWS = 4_000
AVRO = fastavro.parse_schema({"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]})


def good(path: Path) -> Path:
    """Numbers from 0 on."""
    numbers = list(range(ROWS))
    if path.suffix == ".avro":
        with path.open("wb") as file:
            fastavro.writer(file, AVRO, [{"a": number} for number in numbers], sync_interval=1_000)
    elif path.suffix == ".orc":
        orc.write_table(pa.table({"a": numbers}), path, compression="zlib")
    else:
        pq.write_table(pa.table({"a": numbers}), path, row_group_size=1_000, store_schema=False)
    return path


def truncated(path: Path) -> None:
    content = good(path).read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def no_such_file(path: Path) -> None:
    path.write_bytes(b"hello" * 1_000)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def large_stripe(path: Path) -> None:
    numbers = np.zeros(16 * MEGA, dtype="int64")
    orc.write_table(pa.table({"a": numbers}), path, compression="zlib", stripe_size=1 << 40)


def large_block(path: Path) -> None:
    """64 MB of zeros in a block of some kB."""
    with path.open("wb") as file:
        fastavro.writer(file, AVRO, [], codec="deflate", sync_marker=b"s" * 16)
        packed = zlib.compress(bytes(64 * MEGA), wbits=-15)
        for number in (64 * MEGA, len(packed)):
            file.write(varint(2 * number))
        file.write(packed + b"s" * 16)


def varint(number: int) -> bytes:
    """As Avro writes it."""
    found = bytearray()
    while number >= 128:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def lying(path: Path) -> None:
    lie(write(path, pa.table({"a": pa.array(range(200), pa.int64())})), 200, 8000)


def torn_block(path: Path) -> None:
    content = bytearray(good(path).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = random.Random(3).randbytes(40)
    path.write_bytes(content)


HOSTILE: dict[str, Callable[[Path], Any]] = {
    "parquet_truncated": truncated, "parquet_no_file": no_such_file, "parquet_zeros": zeros, "parquet_lie": lying,
    "orc_truncated": truncated, "orc_empty": empty, "orc_stripe": large_stripe,
    "avro_truncated": truncated, "avro_block": large_block, "avro_torn": torn_block,
}  # fmt: skip
FINE = ("parquet_fine", "orc_fine", "avro_fine")
EXECUTORS = "local-cluster[1,2,700]" if TAKES_DRAWS else "local-cluster[3,1,700]"
TAKEN = ("parquet_truncated", "orc_stripe", "avro_block") if TAKES_DRAWS else tuple(HOSTILE)
"""what is read: in ring 2 one of each format"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Name of a table -> what became of each query. Beside each hostile file lie good ones."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in (*TAKEN, *FINE):
        kind = name.split("_")[0]
        (folder / name).mkdir()
        for number in range(3):
            good(folder / name / f"good-{number}.{kind}")
        if name in HOSTILE:
            HOSTILE[name](folder / name / f"bad.{kind}")
    program = [sys.executable, "-m", "tests.spark.tables.hostile", EXECUTORS, str(folder)]
    environment = {**os.environ, VARIABLE: LIMIT}
    said = subprocess.run(program, capture_output=True, text=True, timeout=880, env=environment)
    assert said.returncode == 0, said.stderr
    found: dict[str, list[dict[str, Any]]] = {}
    for line in said.stdout.splitlines():
        if line.startswith("OUTCOME "):
            name, _, outcome = json.loads(line.removeprefix("OUTCOME "))
            found.setdefault(name, []).append(outcome)
    return found


@pytest.mark.parametrize("name", TAKEN)
def test_one_error_names_the_file(name: str, outcomes: dict[str, list[dict[str, Any]]]) -> None:
    sum_, count = outcomes[name]
    assert f"bad.{name.split('_')[0]}" in sum_.get("error", ""), sum_
    assert f"bad.{name.split('_')[0]}" in count.get("error", ""), count


@pytest.mark.parametrize("name", FINE)
def test_good_ones_are_read(name: str, outcomes: dict[str, list[dict[str, Any]]]) -> None:
    sum_, count = outcomes[name]
    assert sum_["rows"] == [[3 * sum(range(ROWS))]] and count["rows"] == [[3 * ROWS]]
    assert len(outcomes[name]) == len(QUERIES)
