"""pyflink.common."""

from __future__ import annotations

from pyflink.common.serialization import RowFieldExtractorSchema
from pyflink.common.typeinfo import Types
from tests.dropin.checks import raises


def types_come_back_from_java() -> None:
    """A type that went to Java and came back is equal to itself."""
    from pyflink.common.typeinfo import _from_java_type

    for kind in (Types.INT(), Types.ROW([Types.STRING(), Types.LONG()]), Types.LIST(Types.FLOAT())):
        assert _from_java_type(kind.get_java_type_info()) == kind


def a_field_index_is_not_negative() -> None:
    """A schema that takes a field of a row out says what is wrong with an index below 0."""
    with raises(ValueError, "Field index must be non-negative, got: -1"):
        RowFieldExtractorSchema(-1)
