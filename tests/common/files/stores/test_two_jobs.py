"""Two jobs of one program have two endpoints and keys for one bucket: settings of stores belong to the job."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.common.files.stores.test_s3 import lines
from tests.services import missing

from millrace.common.configuration import Configuration
from millrace.common.files import store_settings
from millrace.common.serialization import Encoder
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_system import BucketAssigner, FileSink
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing.services import S3, ServiceUnavailable
from millrace.util.threads import JobPool, JobThread, in_this_context

if TYPE_CHECKING:
    from millrace.common.jobs import JobClient

ONE, OTHER = {"s3.access-key": "one"}, {"s3.access-key": "other"}


def key() -> str | None:
    return dict(store_settings.current()).get("s3.access-key")


def test_threads_of_a_job_have_its_settings() -> None:
    seen: dict[str, str | None] = {}

    def note(name: str) -> None:
        seen[name] = key()

    store_settings.use_in_process({"s3.access-key": "process"})
    with store_settings.within(store_settings.stores_of(ONE)):
        kept = in_this_context(note)
        job = JobThread(target=note, args=("thread of the job",))
        with store_settings.within(store_settings.stores_of(OTHER)), JobPool(1) as pool:
            pool.submit(note, "pool of the other job").result()
            kept("function of the job")
            job.start()
            plain = threading.Thread(target=note, args=("thread without a job",))
            plain.start()
            for thread in (job, plain):
                thread.join()
        assert key() == "one"
    assert seen == {
        "thread of the job": "one",
        "pool of the other job": "other",
        "function of the job": "one",
        "thread without a job": "process",
    }


def test_environments_of_two_threads_are_apart() -> None:
    ready = threading.Barrier(2, timeout=60)

    def make(given: dict[str, str]) -> str | None:
        StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
        ready.wait()  # the other one is made as well
        return key()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(make, (ONE, OTHER))) == ["one", "other"]


class Key(S3):
    """A server that knows one key."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.access_key, self.secret_key = f"key-{name}", f"secret-{name}"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[S3, S3]]:
    try:
        with Key("one") as one, Key("other") as other:
            for server in (one, other):
                server.bucket("shared")
            yield one, other
    except ServiceUnavailable as error:
        missing(error)


def start(server: S3, base: str, first: int) -> JobClient:
    given = {
        **server.configuration(),
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": f"{base}/checkpoints",
        "parallelism.default": "1",
    }
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
    numbers = environment.from_source(
        NumberSequenceSource(first, first + 99), WatermarkStrategy.no_watermarks(), "numbers"
    )
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    numbers.map(str).sink_to(sink.build())
    return environment.execute_async(f"numbers from {first}")


@pytest.mark.services
def test_two_jobs_have_two_keys_for_one_bucket(servers: tuple[S3, S3], spark: object) -> None:
    base = f"s3://shared/{uuid.uuid4().hex}"
    firsts = (0, 1_000)
    clients = [start(server, base, first) for server, first in zip(servers, firsts)]
    for client in clients:
        client.get_job_execution_result().result()
    for server, first in zip(servers, firsts):
        with store_settings.within(store_settings.stores_of(server.configuration())):
            assert sorted(map(int, lines(f"{base}/out"))) == list(range(first, first + 100))


@pytest.mark.services
def test_two_table_environments_have_two_keys_for_one_bucket(servers: tuple[S3, S3], spark: object) -> None:
    folder = uuid.uuid4().hex
    made = []
    for place, server in enumerate(servers):
        (server.data / "shared" / folder).mkdir(parents=True)
        (server.data / "shared" / folder / "a.csv").write_text(f"{place}\n", "utf-8")
        given = Configuration.from_dict(server.configuration())
        settings = EnvironmentSettings.new_instance().in_batch_mode().with_configuration(given)
        made.append(TableEnvironment.create(settings.build()))
    options = f"'connector' = 'filesystem', 'path' = 's3://shared/{folder}', 'format' = 'csv'"
    for environment in made:
        environment.execute_sql(f"CREATE TABLE files (a INT) WITH ({options})")
    for place, environment in enumerate(made):
        assert [tuple(row) for row in environment.execute_sql("SELECT a FROM files").collect()] == [(place,)]
