"""The sink of files passes the kit for connectors on S3 and on HDFS: every place where tasks and drivers die."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.common.files.stores.test_s3 import lines, sink

from millrace.checkpoint.folder import open_folder
from millrace.common.sink import Sink
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks
from millrace.testing.connectors.sinks import BESIDE
from millrace.testing.services import S3, Hdfs

pytestmark = pytest.mark.services
ROOTS: dict[str, str] = {}
"""of the servers that run: checks are listed before they do"""


@pytest.fixture
def s3_root(s3: S3) -> Iterator[None]:
    ROOTS["s3"] = "s3://mill"
    yield
    ROOTS.clear()


@pytest.fixture
def hdfs_root(hdfs: Hdfs) -> Iterator[None]:
    ROOTS["hdfs"] = hdfs.url
    yield
    ROOTS.clear()


class FilesToWrite(SinkUnderTest):
    scheme = "s3"

    def __init__(self) -> None:
        self.uri = f"{ROOTS[self.scheme]}/{uuid.uuid4().hex}"

    def sink(self) -> Sink[Any]:
        return sink(self.uri)

    def written(self) -> Sequence[str]:
        return lines(self.uri) if open_folder(self.uri).files() else []

    def left_over(self) -> Sequence[str]:
        return [name for name in open_folder(self.uri).files() if name.startswith(".")]

    def close(self) -> None:
        open_folder(self.uri).delete_tree()


class FilesOnHdfs(FilesToWrite):
    scheme = "hdfs"


IN_THE_SUITE = {
    "What is written is there after a checkpoint",
    "A task fails: killed after prepare",
    BESIDE,
    "Failures one after the other, seed 1",
}
"""the others by make connectors"""
LONGER = [pytest.mark.slow, pytest.mark.connectors]
CHECKS = sink_checks(FilesToWrite)


def test_the_names() -> None:
    assert {str(check) for check in CHECKS} > IN_THE_SUITE


@pytest.mark.parametrize(
    "check", [pytest.param(each, marks=[] if str(each) in IN_THE_SUITE else LONGER, id=str(each)) for each in CHECKS]
)
def test_s3(check: Check, s3_root: None) -> None:
    check()


@pytest.mark.slow
@pytest.mark.connectors
@pytest.mark.parametrize("check", sink_checks(FilesOnHdfs), ids=str)
def test_hdfs(check: Check, hdfs_root: None) -> None:
    check()
