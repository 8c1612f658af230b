"""The Spark session, where programs have always imported it from."""

from millrace.spark.sessions.session import SessionWishes, Workplace, local_session, make_session, workplace

__all__ = ["SessionWishes", "Workplace", "local_session", "make_session", "workplace"]
