"""The Spark session, where programs have always imported it from."""

from millrace.spark.sessions.session import Workplace, local_session, make_session, workplace
from millrace.spark.sessions.settings import SessionWishes

__all__ = ["SessionWishes", "Workplace", "local_session", "make_session", "workplace"]
