"""What servers compress in their binary log: MariaDB single events, MySQL whole transactions."""

from __future__ import annotations

import zlib

import pyarrow as pa

from millrace.connectors.cdc.mysql.log.octets import packed_number

_END, _SIZE, _WAY, _PLAIN = 0, 1, 2, 3
_ZSTD, _NONE = 0, 255
LARGEST = 1 << 31
"""bytes of a transaction; more are refused: they have to be in memory at once"""


def mariadb_plain(data: bytes) -> bytes:
    """What ``log_bin_compress`` has packed.

    :raises ValueError: it is packed in another way, or damaged.
    """
    head = data[0]
    if head & 0x70:
        raise ValueError(f"events are compressed in a way that is not known ({head:#x})")
    width = head & 0x07
    size = int.from_bytes(data[1 : 1 + width], "big")
    try:
        found = zlib.decompress(data[1 + width :])
    except zlib.error as error:
        raise ValueError(f"a compressed event is damaged: {error}") from None
    if len(found) != size:
        raise ValueError(f"a compressed event has {len(found)} bytes and not {size} as it says")
    return found


def transaction_plain(data: bytes) -> bytes:
    """The events within MySQL's TRANSACTION_PAYLOAD_EVENT.

    :raises ValueError: it is packed in another way, or larger than ``LARGEST``.
    """
    at, fields = 0, {}
    while True:
        kind, at = packed_number(data, at)
        if kind == _END:
            break
        width, at = packed_number(data, at)
        fields[kind] = packed_number(data, at)[0]
        at += width
    packed = data[at : at + fields.get(_SIZE, len(data))]
    if fields.get(_WAY) == _NONE:
        return packed
    if fields.get(_WAY) != _ZSTD:
        raise ValueError(f"a transaction is compressed in a way that is not known ({fields.get(_WAY)})")
    size = fields[_PLAIN]
    if size > LARGEST:
        raise ValueError(f"a compressed transaction has {size} bytes, more than the {LARGEST} that are read at once")
    return bytes(pa.decompress(packed, decompressed_size=size, codec="zstd", asbytes=True))
