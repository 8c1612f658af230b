"""Output tags."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.typeinfo import RowTypeInfo, Types
from millrace.datastream.output_tag import OutputTag


def test_the_id_is_the_tag() -> None:
    tag = OutputTag("late", Types.STRING())
    copy = pickle.loads(pickle.dumps(tag))
    assert copy == tag
    assert {tag: 1}[copy] == 1
    assert copy.type_info == Types.STRING()
    assert tag != OutputTag("early", Types.STRING())
    assert tag != "late"


def test_types() -> None:
    assert OutputTag("a").type_info == Types.PICKLED_BYTE_ARRAY()
    row = OutputTag("a", [Types.INT(), Types.STRING()]).type_info
    assert isinstance(row, RowTypeInfo)
    assert row == Types.ROW([Types.INT(), Types.STRING()])


@pytest.mark.parametrize("tag_id", ["", None])
def test_no_id(tag_id: str) -> None:
    with pytest.raises(ValueError, match="OutputTag tag_id cannot be None or empty string"):
        OutputTag(tag_id)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match="type_info must be None, list or TypeInformation"):
        OutputTag("a", "string")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a string, not int"):
        OutputTag(7)  # type: ignore[arg-type]
