"""Connections of owners in flow that are encrypted: two to the driver, one a direction, and one to each other owner."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from tests.owners.test_encryption import make_certificate
from tests.spark.workers.test_meeting import SECRET, arrived

from millrace.spark.jobs.certificates import CertificateError
from millrace.spark.jobs.connections import ConnectionServer, ends_of, links_of
from millrace.spark.jobs.flow_carrier import FlowCarrier
from millrace.spark.workers import encryption, flow_owner
from millrace.spark.workers.encryption import Certificate, Link, TwoWay, come, cut, encrypted, held, takes
from millrace.spark.workers.flow_meeting import Meeting
from millrace.spark.workers.frames import Address, Join, receive, send
from millrace.spark.workers.stage import connect_owner

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def tls() -> Certificate:
    return make_certificate()[0]


@pytest.fixture
def ends(tls: Certificate) -> Iterator[tuple[Link, Link]]:
    """The ends of the connection of owner 1, of two: the driver's, the owner's."""
    door = ConnectionServer(ends_of(2, tls), HOST, HOST, tls=tls)
    owners = [connect_owner(door.address, number) for number in range(2)]
    found = door.wait()
    assert found is not None
    drivers = links_of(2, found)
    yield drivers[1], owners[1]
    for each in (*drivers, *owners):
        each.close()


def test_both_ends_send_at_the_same_time_while_they_receive(ends: tuple[Link, Link]) -> None:
    messages = [bytes([n % 251]) * (n * 997 % 60_000) for n in range(300)]
    heard: list[list[object]] = [[], []]

    def hear(number: int) -> None:
        heard[number] = [receive(ends[number])[0] for _ in messages]

    def say(number: int) -> None:
        for message in messages:
            send(ends[number], (number, message))

    threads = [threading.Thread(target=each, args=(number,)) for each in (hear, say) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == [[(1, message) for message in messages], [(0, message) for message in messages]]


def test_one_that_takes_nothing_is_seen(ends: tuple[Link, Link]) -> None:
    driver, owner = ends
    driver.settimeout(1.0)
    assert takes(driver)
    with pytest.raises(TimeoutError):
        driver.sendall(bytes(1 << 26))  # more than the kernel takes
    assert not takes(driver)
    assert takes(owner)


def test_a_cut_ends_both_directions(ends: tuple[Link, Link]) -> None:
    driver, owner = ends
    cut(owner)
    cut(owner)
    assert owner.recv(1) == b""
    assert driver.recv(1) == b""
    assert not held(driver)


def test_without_a_certificate_there_is_one_connection() -> None:
    door = ConnectionServer(ends_of(1, None), HOST, HOST)
    owner = connect_owner(door.address, 0)
    found = door.wait()
    assert found is not None
    (driver,) = links_of(1, found)
    assert not isinstance(owner, TwoWay)
    assert not isinstance(driver, TwoWay)
    send(driver, "hello")
    assert receive(owner)[0] == "hello"
    for each in (driver, owner):
        each.close()


def test_without_a_certificate_that_is_wanted_a_job_is_not_in_flow() -> None:
    class NoPlaces:
        lease_seconds = 0.0

        def first(self, epoch: int) -> Any:
            raise CertificateError("no keytool")

        def leave(self) -> None: ...

    places: Any = NoPlaces()
    job: Any = SimpleNamespace(partitions=(1,))
    given: Any = None
    assert FlowCarrier(job, places, 1.0, False, given).ready(1) == "no keytool"


def meeting(tls: Certificate | None) -> Meeting:
    """Where an owner listens that a driver of a cluster has asked for."""
    return flow_owner._meeting(Join("job", 0, "/", Address(HOST, 1, b"secret", tls), HOST, (0,)), "/nowhere")


def test_owners_meet_and_a_stranger_does_not(tls: Certificate) -> None:
    here, there, stranger = (meeting(each) for each in (tls, tls, None))
    with closing(here), closing(there), closing(stranger):
        for each in (here, there, stranger):
            each.begin(SECRET)
        with pytest.raises(OSError):
            stranger.connect(here.place, 2)
        with closing(there.connect(here.place, 1)) as out:
            (link,) = arrived(here)
            with closing(link):
                assert isinstance(out, ssl.SSLSocket)
                out.sendall(b"packet")
                assert link.recv(100) == b"packet"


def test_a_piece_that_has_come_in_part_is_waited_for(tls: Certificate) -> None:
    near, far = socket.socketpair()
    made: list[socket.socket] = []
    accepting = threading.Thread(target=lambda: made.append(encrypted(far, tls, server=True)))
    accepting.start()
    arriving, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = encryption._context(tls, False).wrap_bio(arriving, leaving)
    while True:
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
            break
        near.sendall(leaving.read())
        arriving.write(near.recv(1 << 16))
    near.sendall(leaving.read())
    accepting.join()
    (receiver,) = made
    receiver.setblocking(False)
    assert come(receiver, 100) is None, "nothing"
    client.write(b"packet")
    piece = leaving.read()
    near.sendall(piece[:10])
    assert come(receiver, 100) is None, "a part"
    near.sendall(piece[10:])
    assert come(receiver, 100) == b"packet"
    near.close()
    assert come(receiver, 100) == b""
    receiver.close()
