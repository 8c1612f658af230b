"""Other users of the machine get nothing from the master and the workers that a cluster of ours starts, nor from
drivers and executors on them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.processes.running import wait_for
from tests.spark.sessions.attacked import assert_closed, session
from tests.strangers import as_stranger, below, is_loopback, ports_of, stranger

from millrace.spark import standalone_daemons

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

SECRET = "the secret of this cluster"


@contextlib.contextmanager
def started(
    folder: Path, name: str, daemon: standalone_daemons.Daemon
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A daemon as the cluster starts it, and its log."""
    settings, logging, log = (folder / f"{name}{end}" for end in (".conf", ".log4j2.properties", ".log"))
    settings.write_text(standalone_daemons.as_file(standalone_daemons.properties(SECRET, None, False, 1 << 20, 1)))
    logging.write_text(standalone_daemons.log4j(str(log), 1 << 20, 1))
    line = standalone_daemons.command_line(daemon, str(settings), str(folder / f"{name}-work"))
    process = subprocess.Popen(line, env=standalone_daemons.environment(daemon, os.environ, str(logging)))
    try:
        yield process, log
    finally:
        process.terminate()
        process.wait()


def said(log: Path, pattern: str) -> str:
    """What a daemon has written into its log."""
    found = wait_for(lambda: re.search(pattern, log.read_text()) if log.exists() else None, pattern, 90)
    return str(found[1])


def test_they_get_nothing(tmp_path: Path) -> None:
    stranger()
    driver = tmp_path / "driver.conf"
    driver.write_text(standalone_daemons.as_file(standalone_daemons.driver_properties(SECRET, False)))
    with started(tmp_path, "master", standalone_daemons.master("127.0.0.1", 0)) as (master, log):
        url = said(log, r"Starting Spark master at (spark://\S+)")
        with started(tmp_path, "worker", standalone_daemons.worker("127.0.0.1", 1, 512, url)) as (worker, worker_log):
            said(worker_log, r"(Successfully registered) with master")
            variables = {
                "PYSPARK_SUBMIT_ARGS": f"--properties-file {driver} --load-spark-defaults pyspark-shell",
                "SPARK_LOCAL_IP": "127.0.0.1",
            }
            words = (f"millrace.master={url}", "spark.executor.memory=512m", "spark.driver.host=127.0.0.1")
            with session(tmp_path, *words, variables=variables) as (told, processes):
                everything = {*processes, *below(master.pid), *below(worker.pid)}
                ports = ports_of(*everything)
                assert len(ports) >= 8, "RPC of master, worker, driver and executor, blocks of two, pages of two"
                assert [port for port, addresses in ports.items() if not all(map(is_loopback, addresses))] == []
                assert_closed(told, ports, servers=5)
                assert not [pid for pid in everything if SECRET in Path(f"/proc/{pid}/cmdline").read_text()]
                streams = as_stranger(*[(port, "stream", ("/files/shipped.txt",)) for port in ports])
                # Spark asks for no secret here, which docs/guide/security.md says: when it does, take that out.
                assert [each["got"] for each in streams if "got" in each] == [b"a file of the owner".hex()]
