"""Errors that PyFlink's programs catch by name.

In PyFlink they carry the stack trace of a Java exception; here ``stack_trace`` is the message.
"""

from __future__ import annotations

__all__ = [
    "JavaException",
    "TableException",
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableNotExistException",
    "TableNotPartitionedException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
]


class JavaException(Exception):
    """Base of the errors below. The name is PyFlink's: nothing here comes from Java."""

    def __init__(self, stack_trace: str) -> None:
        super().__init__(stack_trace)
        self.stack_trace = stack_trace

    def __str__(self) -> str:
        return self.stack_trace


class TableException(JavaException):
    """A table program is wrong or cannot be run."""


class CatalogException(JavaException):
    """A catalog failed."""


class DatabaseAlreadyExistException(JavaException):
    """A database was to be created that exists."""


class DatabaseNotEmptyException(JavaException):
    """A database was to be dropped that still has tables."""


class DatabaseNotExistException(JavaException):
    """There is no such database."""


class FunctionAlreadyExistException(JavaException):
    """A function was to be created that exists."""


class FunctionNotExistException(JavaException):
    """There is no such function."""


class ProcedureNotExistException(JavaException):
    """There is no such procedure."""


class PartitionAlreadyExistsException(JavaException):
    """A partition was to be created that exists."""


class PartitionNotExistException(JavaException):
    """There is no such partition."""


class PartitionSpecInvalidException(JavaException):
    """A partition was named by columns that the table is not partitioned by."""


class TableAlreadyExistException(JavaException):
    """A table or view was to be created that exists."""


class TableNotExistException(JavaException):
    """There is no such table or view."""


class TableNotPartitionedException(JavaException):
    """Partitions were asked for of a table without any."""


class ModelAlreadyExistException(JavaException):
    """A model was to be created that exists."""


class ModelNotExistException(JavaException):
    """There is no such model."""
