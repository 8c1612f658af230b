"""The SQL gateway: opens, finds and closes sessions, and closes idle ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from millrace.cluster.gateway.operations import GatewayError, NoSuchSessionError, RetiredError
from millrace.cluster.gateway.session import GatewaySession, SessionCluster
from millrace.configuration.own_options import SQL_READS_FILES
from millrace.datastream.settings import Submission
from millrace.spark.jobs.listeners import JobListener, PlainListener

if TYPE_CHECKING:
    from millrace.spark.jobs.submit import SparkJobClient

MOST_SESSIONS = 1_000_000
IDLE_SECONDS = 600.0
LOOK_SECONDS = 60.0
OLDER_PROPERTIES = {"planner": None, "execution_type": "execution.runtime-mode"}
"""Session properties of Flink's first gateway -> the option that replaces each; None: there is only one planner."""


class Gateway:
    """All sessions of one SQL gateway.

    :param defaults: options that every session begins with.
    :param idle: seconds without a request after which a session is closed; 0: never.
    :param most: ``sql-gateway.session.max-num``.
    :param home: where jobs run; None: in this process.
    """

    def __init__(
        self,
        defaults: Mapping[str, str],
        idle: float = IDLE_SECONDS,
        most: int = MOST_SESSIONS,
        look: float = LOOK_SECONDS,
        home: SessionCluster | None = None,
    ) -> None:
        self._defaults = dict(defaults)
        self._home = home or SessionCluster()
        self._retired = False
        self._used = time.monotonic()
        """time at which a session was last opened or seen open (seconds of the monotonic clock)"""
        self._idle = idle
        self._most = most
        self._sessions: dict[str, GatewaySession] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        if idle > 0:
            threading.Thread(target=self._watch, args=(look,), name="millrace-gateway-idle", daemon=True).start()

    def open(self, properties: Mapping[str, str], name: str | None = None) -> GatewaySession:
        """:raises GatewayError: too many sessions, or a property that can't have its value."""
        with self._lock:
            if self._retired:
                raise RetiredError("This gateway is about to end.")
            self._used = time.monotonic()
            if len(self._sessions) >= self._most:
                count = f"the count of active sessions exceeds the max count: {self._most}"
                raise GatewayError(f"Failed to create session, {count}")
        try:
            session = GatewaySession(
                {**self._defaults, **_current(properties)},
                name,
                self._home,
                # Of the gateway alone: a session can't allow itself more.
                SQL_READS_FILES.read(self._defaults),
            )
        except Exception as error:
            raise GatewayError("Failed to openSession.") from error
        with self._lock:
            retired = self._retired  # while the session was being made
            if not retired:
                self._sessions[session.handle] = session
        if retired:
            session.close()
            raise RetiredError("This gateway is about to end.")
        return session

    def session(self, handle: str) -> GatewaySession:
        """:raises NoSuchSessionError: it was never there, or is closed."""
        with self._lock:
            found = self._sessions.get(handle)
        if found is None:
            raise NoSuchSessionError(handle)
        found.used = time.monotonic()
        return found

    def close(self, handle: str) -> None:
        """:raises NoSuchSessionError: it was never there, or is closed."""
        session = self.session(handle)
        with self._lock:
            self._sessions.pop(handle, None)
        session.close()

    def is_idle(self, seconds: float) -> bool:
        """Whether the gateway has had no session for this long."""
        with self._lock:
            if self._sessions:
                self._used = time.monotonic()
            return time.monotonic() - self._used > seconds

    def retire(self) -> bool:
        """Stop accepting sessions if none is open; returns whether the gateway is retired."""
        with self._lock:
            self._retired = self._retired or not self._sessions
            return self._retired

    def stop(self) -> None:
        """Close all sessions."""
        self._stopped.set()
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close()

    def _watch(self, look: float) -> None:
        while not self._stopped.wait(min(look, max(self._idle / 2, 0.01))):
            now = time.monotonic()
            with self._lock:
                idle = [each for each in self._sessions.values() if now - each.used > self._idle and not each.is_busy()]
                for session in idle:
                    del self._sessions[session.handle]
            for session in idle:
                session.close()

    # -- requests of the process -------------------------------------------------------------------------------

    def submit(self, submission: Submission) -> SparkJobClient:
        """A ``Submitter``: the job belongs to the session on whose thread it is submitted."""
        session = self._here()
        if session is None:
            return submission.start()
        if submission.portable is None:
            self._home.share(session.properties)
        client = session.jobs.submit(submission)
        session.started(client)
        return client

    def listener(self) -> JobListener:
        session = self._here()
        return PlainListener() if session is None else session.listener()

    def _here(self) -> GatewaySession | None:
        thread = threading.current_thread()
        with self._lock:
            return next((each for each in self._sessions.values() if each.runs_here(thread)), None)


def _current(properties: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for key, value in properties.items():
        name = OLDER_PROPERTIES.get(key, key)
        if name is not None:
            found[name] = value
    return found
