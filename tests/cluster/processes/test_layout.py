"""From machines and keys to a master and workers."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from millrace.cluster.processes import spark_layout
from millrace.cluster.processes.spark_layout import (
    Host,
    Hosts,
    LayoutError,
    MasterLine,
    find_hosts,
    forget_layout,
    plan,
    read_layout,
    write_layout,
)

HERE = Host("localhost")


def hosts(*workers: str, master: str = "localhost") -> Hosts:
    return Hosts(tuple(map(Host, workers)), MasterLine(Host(master)))


def test_a_number_of_workers_counts_more_than_files(tmp_path: Path) -> None:
    (tmp_path / "workers").write_text("node1\nnode2\n")
    assert find_hosts(tmp_path, 3) == hosts(*["localhost"] * 3)
    assert find_hosts(tmp_path, None) == hosts("node1", "node2")
    assert find_hosts(None, 1) == hosts("localhost")


def test_without_files_and_number_there_is_no_layout(tmp_path: Path) -> None:
    assert find_hosts(tmp_path, None) is None
    assert find_hosts(None, None) is None


def test_masters_alone_mean_one_worker_here(tmp_path: Path) -> None:
    (tmp_path / "masters").write_text("localhost:8085\n")
    assert find_hosts(tmp_path, None) == Hosts((HERE,), MasterLine(HERE, 8085))
    (tmp_path / "masters").write_text("localhost:8085\nnode2\n")
    with pytest.raises(LayoutError, match="nothing would run on node2"):
        find_hosts(tmp_path, None)


def test_slots_and_memory_are_flinks() -> None:
    made = plan(hosts("localhost", "localhost"), {"taskmanager.numberOfTaskSlots": "3"})
    assert (made.cores, made.megabytes, made.slots) == (3, 1024, 6)
    sized = plan(hosts("localhost"), {"taskmanager.memory.process.size": "1728m"})
    assert (sized.cores, sized.megabytes) == (1, 512)  # Flink's own default: so large is its heap
    small = {"taskmanager.numberOfTaskSlots": "4", "spark.executor.cores": "2", "spark.executor.memory": "700m"}
    assert plan(hosts("localhost"), small).megabytes == 1400  # two executors
    with pytest.raises(LayoutError, match="needs a slot"):
        plan(hosts("localhost"), {"taskmanager.numberOfTaskSlots": "0"})


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    made = plan(hosts("localhost"), {})
    assert (made.address, made.encrypted, made.away) == ("127.0.0.1", False, ())
    told = plan(hosts("localhost"), {"jobmanager.rpc.address": "node1"})
    assert (told.url, told.encrypted) == ("spark://node1:7077", True)
    assert plan(hosts("localhost"), {"jobmanager.rpc.address": "localhost"}).address == "127.0.0.1"
    off = {"jobmanager.rpc.address": "node1", "spark.network.crypto.enabled": "false"}
    assert not plan(hosts("localhost"), off).encrypted


def test_workers_elsewhere_need_a_master_that_they_reach() -> None:
    with pytest.raises(LayoutError, match=r"workers on node7 can't reach .*: set jobmanager.rpc.address"):
        plan(hosts("localhost", "ann@node7", "node7"), {"jobmanager.rpc.address": "localhost"})
    made = plan(hosts("localhost", "ann@node7"), {"jobmanager.rpc.address": "node1"})
    assert made.away == (Host("ann@node7"),)
    with pytest.raises(LayoutError, match="a worker on localhost is not found by a master on node9"):
        plan(hosts("localhost", "node7", master="node9"), {})
    assert plan(hosts("node7", master="node9"), {}).address == "node9"


def test_there_always_is_a_secret_of_its_own() -> None:
    one, other = plan(hosts("localhost"), {}), plan(hosts("localhost"), {})
    assert len(one.secret) >= 32 and one.secret != other.secret
    assert one.secret not in repr(one)
    assert plan(hosts("localhost"), {"spark.authenticate.secret": "mine"}).secret == "mine"


def test_a_port_that_is_taken_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_MASTER_PORT", raising=False)
    with socket.socket() as taken, socket.socket() as free:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free.bind(("127.0.0.1", 0))
        ports = [taken.getsockname()[1], free.getsockname()[1]]
        free.close()
        monkeypatch.setattr(spark_layout, "PORTS", ports)
        assert plan(hosts("localhost"), {}).port == ports[1]
        monkeypatch.setattr(spark_layout, "PORTS", ports[:1])
        with pytest.raises(LayoutError, match="is free for Spark's master"):
            plan(hosts("localhost"), {})
    monkeypatch.setenv("SPARK_MASTER_PORT", "17077")
    assert plan(hosts("localhost"), {}).port == 17077


def test_it_is_kept_for_this_user_only(tmp_path: Path) -> None:
    cluster = str(tmp_path)
    assert read_layout(cluster) is None
    made = plan(hosts("localhost", "localhost"), {})
    write_layout(cluster, made)
    assert read_layout(cluster) == made
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "spark").iterdir()] == [0o600]
    assert os.stat(tmp_path / "spark").st_mode & 0o777 == 0o700
    forget_layout(cluster)
    forget_layout(cluster)
    assert read_layout(cluster) is None
