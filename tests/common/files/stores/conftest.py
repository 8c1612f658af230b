"""A server of S3 and one of HDFS, started once for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.services import missing

from millrace.common.files import store_settings
from millrace.testing.services import S3, Hdfs, ServiceUnavailable


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test lets this process know is gone with it."""
    before = dict(store_settings.current())
    yield
    store_settings.take(before)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    try:
        with S3() as server:
            server.bucket("mill")
            yield server
    except ServiceUnavailable as error:
        missing(error)


@pytest.fixture
def s3(s3_server: S3) -> S3:
    """The server, with what this process must know of it."""
    store_settings.use(s3_server.configuration())
    return s3_server


@pytest.fixture(scope="session")
def hdfs_server() -> Iterator[Hdfs]:
    try:
        with Hdfs() as server:
            yield server
    except ServiceUnavailable as error:
        missing(error)


@pytest.fixture
def hdfs(hdfs_server: Hdfs) -> Hdfs:
    """The server, with what this process must know of it."""
    store_settings.use(hdfs_server.configuration())
    return hdfs_server
