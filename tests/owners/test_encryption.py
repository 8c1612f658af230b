"""Connections between driver and tasks that are encrypted, with a certificate of the job's own."""

from __future__ import annotations

import contextlib
import datetime as dt
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.owners.driving import check, eventually
from tests.owners.test_staying import HOST, counting, executor

from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.spark.jobs.connections import ConnectionServer, EpochExchange
from millrace.spark.workers.encryption import Certificate, cut, encrypted, held
from millrace.spark.workers.frames import Address, Done, Order, Part, receive, send
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.stage import NotProvedError, connect

__all__ = ["executor"]
SAYING = "a rolling stone gathers no moss"
TASK = (0, 0)


def make_certificate(name: str = "millrace", issuer: tuple[x509.Name, Any] | None = None) -> tuple[Certificate, Any]:
    """A certificate and its key, in both forms."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
    by, by_key = issuer or (subject, key)
    now = dt.datetime.now(dt.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(by_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(made.public_bytes(pem).decode(), private.decode()), (subject, key)


@pytest.fixture(scope="module")
def tls() -> Certificate:
    return make_certificate()[0]


@contextlib.contextmanager
def server(tls: Certificate | None) -> Iterator[ConnectionServer]:
    door = ConnectionServer([TASK], HOST, HOST, tls=tls)
    yield door
    door.close()


def refused(attempt: Callable[[], socket.socket]) -> bool:
    """Whether a connection cannot be made, or is closed by the other end before that says a word."""
    try:
        with attempt() as link:
            link.settimeout(60)
            return link.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_who_has_no_certificate_or_another_one_is_refused(tls: Certificate) -> None:
    with server(tls) as door:
        without = replace(door.address, tls=None)  # it knows the secret
        assert refused(lambda: connect(without, TASK))
        assert refused(lambda: connect(replace(door.address, tls=make_certificate()[0]), TASK))
        assert door.missing == [TASK]
        with connect(door.address, TASK):
            assert door.wait() is not None


def test_who_shows_no_certificate_at_all_hears_nothing(tls: Certificate) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with server(tls) as door, socket.create_connection((HOST, door.address.port), 60) as plain:
        assert refused(lambda: _greeted(context.wrap_socket(plain)))
        assert door.missing == [TASK]


def _greeted(link: socket.socket) -> socket.socket:
    link.sendall(b"a" * 24)
    return link


def test_the_certificate_alone_is_not_enough(tls: Certificate) -> None:
    with server(tls) as door:
        wrong = replace(door.address, secret=b"x" * 32)
        with pytest.raises(NotProvedError, match="is not the driver of this job"):
            connect(wrong, TASK)
        with socket.create_connection((HOST, door.address.port), 60) as plain:
            stranger = encrypted(plain, tls, server=False)
            stranger.sendall(b"a" * 24)
            assert len(stranger.recv(48)) == 48
            stranger.sendall(b"b" * 32)
            assert stranger.recv(1) == b""
            stranger.close()
        assert door.missing == [TASK]


def test_a_driver_with_another_certificate_is_not_believed(tls: Certificate) -> None:
    """One that the job's key has signed is another one, too."""
    own, authority = make_certificate("authority")
    for other in (make_certificate()[0], make_certificate("other", authority)[0]):
        with server(other) as door, pytest.raises(ssl.SSLError):
            connect(replace(door.address, tls=own), TASK)


def test_one_that_says_nothing_lets_no_task_wait(tls: Certificate) -> None:
    with server(tls) as door, socket.create_connection((HOST, door.address.port), 60), connect(door.address, TASK):
        assert door.wait() is not None


class Proxy:
    """Passes a connection on, and keeps what goes over it."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self._behind = port
        self.seen: list[bytes] = []
        self._thread = threading.Thread(target=self._pass_on)
        self._thread.start()

    def _pass_on(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection((HOST, self._behind), 60)
        other = {near: far, far: near}
        with near, far:
            while True:
                for link in select.select([near, far], [], [])[0]:
                    content = link.recv(1 << 16)
                    if not content:
                        return
                    self.seen.append(content)
                    other[link].sendall(content)

    def end(self) -> bytes:
        """Wait for the end of the connection, and return all that went over it."""
        self._thread.join()
        self._listener.close()
        return b"".join(self.seen)


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_what_is_said_cannot_be_read_on_the_way(tls: Certificate, is_encrypted: bool) -> None:
    with server(tls if is_encrypted else None) as door:
        proxy = Proxy(door.address.port)
        with connect(replace(door.address, port=proxy.port), TASK) as task:
            links = door.wait()
            assert links is not None
            driver = links[TASK]
            for one, other in ((driver, task), (task, driver)):
                send(one, Order(1, SAYING, [SAYING.encode()]))
                assert receive(other) == (Order(1, SAYING, [SAYING.encode()]), [])
            driver.close()
        seen = proxy.end()
    assert (SAYING.encode() in seen) is not is_encrypted
    assert door.address.secret not in seen


def test_what_is_decrypted_already_is_seen(tls: Certificate) -> None:
    with server(tls) as door, connect(door.address, TASK) as task:
        links = door.wait()
        assert links is not None
        driver = links[TASK]
        assert not select.select([driver, task], [], [], 0)[0], "no end says anything by itself"
        task.sendall(together(Part(["one"]), Done()))
        assert select.select([driver], [], [], 60)[0]
        assert not held(driver)
        assert receive(driver)[0] == Part(["one"])
        assert held(driver)
        assert not select.select([driver], [], [], 0)[0]
        assert receive(driver)[0] == Done()
        assert not held(driver)
        driver.close()
    plain = socket.socketpair()
    plain[0].sendall(b"x")
    assert not held(plain[1])
    for each in plain:
        each.close()


def together(*messages: object) -> bytes:
    """The bytes of some messages: what is sent at once is one piece of TLS."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for message in messages:
            send(ours, message)
        return theirs.recv(1 << 16)


def test_an_epoch_ends_whatever_comes_in_one_piece(tls: Certificate) -> None:
    """A driver that looked at its sockets only would wait for a message that it has decrypted already."""
    ack = TaskAck(7, *TASK, run=3)
    packets = [Packet(0, ACK, 0, 0, ack.encode(), 3)]
    with server(tls) as door, connect(door.address, TASK) as task:
        task.sendall(together(Part([]), Part(packets), Done()))
        links = door.wait()
        assert links is not None
        job: Any = SimpleNamespace(partitions=(1,), edge_stages=())
        assert EpochExchange(job, links).run(3, "epoch 7") == [ack]
        assert receive(task)[0] == Order(3, "epoch 7", [])
        links[TASK].close()


def test_a_thread_that_waits_is_woken_when_the_connection_is_cut(tls: Certificate) -> None:
    with server(tls) as door, connect(door.address, TASK) as task:
        links = door.wait()
        assert links is not None
        ended: list[bytes] = []
        thread = threading.Thread(target=lambda: ended.append(task.recv(1)))
        thread.start()
        cut(task)
        thread.join()
        assert ended == [b""]
        with pytest.raises(OSError):
            task.sendall(b"never readable")
        assert links[TASK].recv(1) == b""
        links[TASK].close()


def test_the_certificate_is_in_no_text(tls: Certificate) -> None:
    address = Address(HOST, 1, b"secret", tls)
    for text in (repr(tls), repr(address), str(address)):
        assert tls.key.splitlines()[1] not in text
        assert tls.certificate.splitlines()[1] not in text
        assert "secret" not in text


def test_epochs_of_tasks_that_stay(executor: Any, tmp_path: Path, tls: Certificate) -> None:
    job = counting(tmp_path)
    job.tls = tls
    check(job.run_to_end([]))
    assert job.rounds is not None
    assert job.rounds.intact()
    job.leave()
    eventually(job.left)
    job.forget()


def test_a_task_that_dies_is_noticed(executor: Any, tmp_path: Path, tls: Certificate) -> None:
    job = counting(tmp_path, "dies")
    job.tls = tls
    found: list[Any] = []
    with pytest.raises(OwnerLostError, match=r"the process that task \d of stage 1 lives in has ended"):
        job.run_to_end(found)
    job.leave()
    eventually(job.left)
    job.coordinator.restart()
    check(job.run_to_end(found))
    job.leave()
    job.forget()
