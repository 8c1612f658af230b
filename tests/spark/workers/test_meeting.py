"""Owners meet on one machine and on several; strangers do not get in."""

from __future__ import annotations

import logging
import os
import resource
import select
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.spark.workers import flow_meeting
from millrace.spark.workers.flow_meeting import LocalMeeting, Meeting, NetworkMeeting, listen
from millrace.spark.workers.stage import NotProvedError, spread
from millrace.util.ports import port_range

SECRET = b"s" * 32
OTHER = b"o" * 32


def arrived(meeting: Meeting, seconds: float = 10.0) -> list[socket.socket]:
    """The connections that come within a while."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([meeting.ready], [], [], left)[0] and (found := meeting.arrived()):
            return found
    return []


@pytest.fixture(params=["one machine", "a cluster"])
def meetings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Meeting, Meeting]]:
    made: tuple[Meeting, Meeting]
    if request.param == "one machine":
        made = LocalMeeting(str(tmp_path / "a")), LocalMeeting(str(tmp_path / "b"))
    else:
        made = NetworkMeeting("127.0.0.1", [0]), NetworkMeeting("127.0.0.1", [0])
    yield made
    for each in made:
        each.close()


def test_what_one_owner_sends_the_other_gets(meetings: tuple[Meeting, Meeting]) -> None:
    here, there = meetings
    here.begin(SECRET)
    there.begin(SECRET)
    with closing(there.connect(here.place, 1)) as out:
        (link,) = arrived(here)
        with closing(link):
            out.sendall(b"packet")
            assert link.recv(100) == b"packet"
            out.close()
            assert link.recv(100) == b""


def test_an_owner_of_another_set_of_connections_is_not_let_in(meetings: tuple[Meeting, Meeting]) -> None:
    here, there = meetings
    here.begin(SECRET)
    there.begin(OTHER)
    try:
        there.connect(here.place, 1).close()
    except NotProvedError:
        pass  # on a cluster the one who connects sees it, too
    assert arrived(here, 0.5) == []


def test_a_stranger_who_says_nothing_stops_nobody() -> None:
    here, there = NetworkMeeting("127.0.0.1", [0]), NetworkMeeting("127.0.0.1", [0])
    with closing(here), closing(there):
        here.begin(SECRET)
        there.begin(SECRET)
        host, _, port = here.place.rpartition(":")
        with socket.create_connection((host, int(port))):
            there.connect(here.place, 0).close()
            (link,) = arrived(here)
            link.close()


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process may open no further file meanwhile."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))), limits[1]))
    filled: list[int] = []
    try:
        with suppress(OSError):
            while True:
                filled.append(os.dup(0))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for each in filled:
            os.close(each)


def test_an_owner_without_files_says_so_when_it_connects(meetings: tuple[Meeting, Meeting]) -> None:
    here, there = meetings
    for each in meetings:
        each.begin(SECRET)
    with no_more_files(), pytest.raises(OSError, match=r"Too many open files \(.*raise ulimit -n\): '"):
        there.connect(here.place, 1)


@pytest.mark.timeout(60)
def test_connections_are_accepted_again_when_there_were_no_more_files(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_meeting, "_PAUSE_SECONDS", 0.05)
    here, there = NetworkMeeting("127.0.0.1", [0]), NetworkMeeting("127.0.0.1", [0])
    with closing(here), closing(there), socket.socket() as early:
        for each in (here, there):
            each.begin(SECRET)
        host, _, port = here.place.rpartition(":")
        with caplog.at_level(logging.WARNING, logger="millrace"), no_more_files():
            early.connect((host, int(port)))
            until = time.monotonic() + 20
            while not caplog.messages and time.monotonic() < until:
                time.sleep(0.02)
            with pytest.raises(OSError, match=r"Too many open files \(.*raise ulimit -n\): '127.0.0.1:"):
                there.connect(here.place, 1)
        assert "no connection of the job is accepted for now: " in caplog.messages[0]
        assert "raise ulimit -n" in caplog.messages[0]
        with closing(there.connect(here.place, 1)):
            (link,) = arrived(here)
            link.close()


def test_nobody_listens_behind_the_end(meetings: tuple[Meeting, Meeting]) -> None:
    here, there = meetings
    for each in meetings:
        each.begin(SECRET)
    here.close()
    with pytest.raises(OSError):
        there.connect(here.place, 0)


def test_the_first_free_port_of_a_range_is_taken() -> None:
    with listen(("127.0.0.1",), [0]) as taken:
        port = taken.getsockname()[1]
        with listen(("127.0.0.1",), [port, 0]) as second:
            assert second.getsockname()[1] not in (0, port)
        with pytest.raises(OSError, match=rf"cannot listen at 127\.0\.0\.1, port {port}: "):
            listen(("127.0.0.1",), [port])


def test_a_machine_that_has_not_its_address_listens_at_all() -> None:
    with listen(("192.0.2.1", ""), [0]) as found:  # an address of documentation
        assert found.getsockname()[0] == "0.0.0.0"
    with pytest.raises(OSError, match="cannot listen at 192"):
        listen(("192.0.2.1",), [0])


@pytest.mark.parametrize(
    ("text", "ports"), [("0", [0]), ("7-9", [7, 8, 9]), ("7, 9-10,7", [7, 9, 10]), ("65535", [65535])]
)
def test_ports_as_configurations_write_them(text: str, ports: list[int]) -> None:
    assert port_range(text) == ports


@pytest.mark.parametrize("text", ["", "x", "9-7", "70000", "7-", "-7", "7-70000"])
def test_what_is_no_port(text: str) -> None:
    with pytest.raises(ValueError, match="neither a port nor a range"):
        port_range(text)


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12), st.integers(0, 12))
def test_owners_are_spread_over_the_executors(executors: list[str], more: int) -> None:
    owners = len(executors) + more
    found = spread(owners, executors)
    assert sorted(number for each in found for number in each) == list(range(owners))
    assert all(each[0] == task for task, each in enumerate(found))
    on = Counter(dict.fromkeys(executors, 0))
    for executor, each in zip(executors, found):
        on[executor] += len(each)
    held = Counter(executors)
    # No executor has got a further owner while another one had fewer.
    assert all(on[a] <= on[b] + 1 for a in on if on[a] > held[a] for b in on)
