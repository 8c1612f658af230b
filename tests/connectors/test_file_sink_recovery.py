"""FileSink in jobs that fail anywhere: every line once, nothing of others touched, nothing left behind."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.coordination import Driver, Point
from tests.connectors.driving import Clock
from tests.connectors.exactly_once import ExactlyOnce, test_case

from millrace.common.file_systems import locate
from millrace.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from millrace.common.sink import Sink
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.connectors.file_system.committer import _files

LINES = Encoder.simple_string_encoder()


class LinesFactory(BulkWriterFactory):
    def create(self, stream: Any) -> BulkWriter:
        return LinesWriter(stream)


class LinesWriter(BulkWriter):
    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def add_element(self, element: Any) -> None:
        self.stream.write(f"{element}\n".encode())

    def flush(self) -> None: ...

    def finish(self) -> None: ...


class LastDigit(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return f"odd//{element % 2}" if element % 3 else ""


def rows(base: str, part_size: int = 20) -> Sink[Any]:
    policy = RollingPolicy.default_rolling_policy(part_size=part_size)
    return FileSink.for_row_format(base, LINES).with_bucket_assigner(LastDigit()).with_rolling_policy(policy).build()


def rows_on_checkpoint(base: str) -> Sink[Any]:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    return FileSink.for_row_format(base, LINES).with_bucket_assigner(LastDigit()).with_rolling_policy(policy).build()


def bulk(base: str) -> Sink[Any]:
    return FileSink.for_bulk_format(base, LinesFactory()).with_bucket_assigner(LastDigit()).build()


class Files:
    """A directory of files, by its path or URI."""

    def __init__(self, uri: str, make: Any) -> None:
        self.uri = uri
        self._make = make

    def sink(self) -> Sink[Any]:
        sink: Sink[Any] = self._make(self.uri)
        return sink

    def _paths(self, hidden: bool) -> list[str]:
        return [path for path in _files(locate(self.uri)) if path.rpartition("/")[2].startswith(".") == hidden]

    def committed(self) -> list[int]:
        system = locate(self.uri).file_system()
        found: list[int] = []
        for path in self._paths(hidden=False):
            with system.open_input_file(path) as file:
                found += map(int, file.read().split())
        return found

    def left_over(self) -> list[str]:
        return self._paths(hidden=True)

    def close(self) -> None:
        location = locate(self.uri)
        if location.root.startswith("memory"):
            location.file_system().delete_dir(location.path)


class LocalRows(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        return Files(str(directory), rows)

    def required(self) -> set[int]:
        return set()  # elements may wait in unfinished parts; the end shows whether any are lost


class LocalRowsOnCheckpoint(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        return Files(str(directory), rows_on_checkpoint)


class LocalBulk(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        return Files(str(directory), bulk)


class RowsInMemory(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        pytest.importorskip("fsspec")
        place = Files(f"memory://sinks/{uuid.uuid4().hex}/", rows)
        locate(place.uri).file_system().create_dir(locate(place.uri).path)
        return place


class BulkBehindFsspec(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Files:
        pytest.importorskip("fsspec")
        return Files(f"local://{directory}/out", bulk)


TestLocalRows = test_case(LocalRows)
TestLocalRowsOnCheckpoint = test_case(LocalRowsOnCheckpoint)
TestLocalBulk = test_case(LocalBulk)
TestRowsInMemory = test_case(RowsInMemory)
TestBulkBehindFsspec = test_case(BulkBehindFsspec)
