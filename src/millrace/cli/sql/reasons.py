"""Why a statement failed, in the words that help its author."""

from __future__ import annotations

from millrace.cli.errors import report, spark_line
from millrace.cli.sql.settings import VERBOSE
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.failure import full_traceback
from millrace.spark.errors import DriverLostError
from millrace.spark.java import JavaNotFoundError
from millrace.table.sql.statements import Statement
from millrace.table.sql.text.errors import SqlError
from millrace.util.tracebacks import raised_by_millrace

_HINT = f"(SET '{VERBOSE}' = 'true' shows all of it)"
_ENGINE = ("pyspark", "py4j")


def reason(error: BaseException, verbose: bool = False, origin: str | None = None, log_file: str | None = None) -> str:
    """The text of an error.

    :param verbose: with its traceback.
    :param log_file: named where a job has failed.
    :param origin: the place in Python that Millrace takes for the user's: here nobody's, so it is left out.
    """
    text = _text(error, verbose, log_file)
    if origin is not None:
        text = text.replace(f", made at {origin},", "").replace(f"{origin}: ", "")
    return text


def _text(error: BaseException, verbose: bool, log_file: str | None) -> str:
    if isinstance(error, (JobFailedError, DriverLostError, JavaNotFoundError)):
        return report(error, log_file, verbose).text
    if verbose:
        return full_traceback(error).rstrip()
    if isinstance(error, (SqlError, NotImplementedError)) or raised_by_millrace(error):
        return str(error)
    if type(error).__module__.startswith(_ENGINE):
        return f"Spark: {spark_line(error)}\n{_HINT}"
    return f"{type(error).__name__}: {error}\n{_HINT}"


def place(error: BaseException, statement: Statement | None) -> str:
    """``line:column`` in the script: of what is wrong, else of the statement that failed."""
    position = error.position if isinstance(error, SqlError) else None
    own = statement.position if statement is not None else None
    # A view has a text of its own: a place in it is none of the script.
    if position is None or (own is not None and position.source.text != own.source.text):
        position = own
    return "" if position is None else f"{position.line}:{position.column}"
