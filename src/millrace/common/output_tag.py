"""Names of side outputs."""

from __future__ import annotations

from millrace.common.typeinfo import TypeInformation, Types

__all__ = ["OutputTag"]


class OutputTag:
    """Name and type of a side output: ``yield tag, value`` emits to it, ``stream.get_side_output(tag)`` reads it.

    Two tags with the same ``tag_id`` are the same tag, so a tag that was pickled with a function still matches.

        >>> late = OutputTag("late", Types.STRING())
        >>> late.tag_id
        'late'

    :param tag_id: the name, unique among the side outputs of an operator.
    :param type_info: the elements' type; a list of types stands for a row of them, None for any picklable object.
    :raises ValueError: empty ``tag_id``.
    :raises TypeError: ``tag_id`` is no string or ``type_info`` no type.
    """

    def __init__(self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None) -> None:
        if not tag_id:
            raise ValueError("OutputTag tag_id cannot be None or empty string")
        if not isinstance(tag_id, str):
            raise TypeError(f"OutputTag tag_id must be a string, not {type(tag_id).__name__}")
        self.tag_id = tag_id
        self.type_info: TypeInformation
        if type_info is None:
            self.type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = Types.ROW(type_info)
        elif isinstance(type_info, TypeInformation):
            self.type_info = type_info
        else:
            raise TypeError("OutputTag type_info must be None, list or TypeInformation")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r}, {self.type_info})"
