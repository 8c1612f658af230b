"""Numbers and texts as MySQL's protocol packs them."""

from __future__ import annotations


def packed_number(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
    if width is None:
        raise ValueError(f"{first:#x} begins no number of MySQL's protocol")
    return int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width


def packed_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Bytes with their number before them, and where they end."""
    size, at = packed_number(data, at)
    return data[at : at + size], at + size


def packed_numbers(data: bytes) -> list[int]:
    """All numbers that some bytes are made of."""
    found, at = [], 0
    while at < len(data):
        number, at = packed_number(data, at)
        found.append(number)
    return found


def bits(data: bytes, number: int) -> list[bool]:
    """The lowest bit of the first byte first."""
    return [bool(data[place >> 3] >> (place & 7) & 1) for place in range(number)]
