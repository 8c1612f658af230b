"""Sessions on one Spark: those of a program, and those that are made of them with settings of our own."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

_parents: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()


def new_session(parent: SparkSession) -> SparkSession:
    """A session with its own settings, which does not know the parent's views and data sources."""
    session = parent.newSession()
    _parents[session] = parent
    return session


def session_of_program(session: SparkSession | None = None) -> SparkSession:
    """The session that a session goes back to: it knows what the program has registered.

    :param session: None: the active one.
    """
    found = session or SparkSession.getActiveSession() or SparkSession._instantiatedSession
    assert found is not None, "there is no Spark session"
    while (parent := _parents.get(found)) is not None:
        found = parent
    return found
