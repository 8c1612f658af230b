"""``conf/workers`` and ``conf/masters`` in the forms that Flink's scripts read."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cluster.processes.spark_layout import Host, HostsError, MasterLine, parse_host, read_masters, read_workers


def test_workers_are_lines(tmp_path: Path) -> None:
    lines = ("# all of them", "localhost", "localhost  # once more", "", "  flink@node-7.example.org")
    (tmp_path / "workers").write_text("\n".join(lines))
    found = read_workers(tmp_path)
    assert found == [Host("localhost"), Host("localhost"), Host("flink@node-7.example.org")]
    assert [each.here for each in found] == [True, True, False]
    assert found[2].name == "node-7.example.org"


def test_masters_have_a_port_or_not(tmp_path: Path) -> None:
    (tmp_path / "masters").write_text("localhost:8081\nnode7\nuser@node8:9000\nfe80::1\n")
    assert read_masters(tmp_path) == [
        MasterLine(Host("localhost"), 8081),
        MasterLine(Host("node7")),
        MasterLine(Host("user@node8"), 9000),
        MasterLine(Host("fe80::1")),
    ]


def test_without_files_nothing_is_asked_for(tmp_path: Path) -> None:
    assert read_workers(tmp_path) is None
    assert read_masters(tmp_path) is None


@pytest.mark.parametrize(
    "line", ["-oProxyCommand=x", "user@-oProxyCommand=x", "a b", "$(reboot)", "a;b", "@node", "node@", "`x`", "a'b"]
)
def test_what_ssh_or_a_shell_would_take_for_something_else_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "workers").write_text(f"localhost\n{line}\n")
    with pytest.raises(HostsError, match=r"line 2: .* is no machine: expected is 'host' or 'user@host'"):
        read_workers(tmp_path)


@pytest.mark.parametrize("line", ["node:0", "node:65536", "node:http", "node:"])
def test_ports_are_ports(tmp_path: Path, line: str) -> None:
    (tmp_path / "masters").write_text(line)
    with pytest.raises(HostsError, match="is no 'host:webuiport'"):
        read_masters(tmp_path)


def test_a_line_break_does_not_end_the_check() -> None:
    with pytest.raises(HostsError):
        parse_host("node\n-oProxyCommand=reboot")
