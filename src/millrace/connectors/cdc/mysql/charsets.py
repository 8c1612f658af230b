"""Character sets of MySQL and MariaDB, as Python calls them."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

__all__ = ["codec"]

_CODECS: Mapping[str, str] = {
    "latin1": "mysql_latin1", "utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "ascii": "ascii",
    "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be",
    "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "greek": "iso8859-7",
    "hebrew": "iso8859-8", "koi8r": "koi8-r", "koi8u": "koi8-u", "tis620": "cp874", "macroman": "mac-roman",
    "macce": "mac-latin2", "sjis": "shift-jis", "cp932": "cp932", "ujis": "euc-jp", "eucjpms": "euc-jp",
    "euckr": "cp949", "gb2312": "gb2312", "gbk": "gbk", "gb18030": "gb18030", "big5": "big5",
    "cp850": "cp850", "cp852": "cp852", "cp866": "cp866", "cp1250": "cp1250", "cp1251": "cp1251",
    "cp1256": "cp1256", "cp1257": "cp1257",
}  # fmt: skip


def codec(charset: str) -> str | None:
    """Python's name of a character set; None: they are bytes.

    :raises ValueError: Python does not have it.
    """
    if charset == "binary":
        return None
    if charset not in _CODECS:
        raise ValueError(f"texts with the character set {charset} cannot be read here")
    return _CODECS[charset]


def _latin1(name: str) -> codecs.CodecInfo | None:
    """MySQL's ``latin1``: Windows' code page, whose five holes are control characters."""
    if name != "mysql_latin1":
        return None

    def decode(data: Any, errors: str = "strict", /) -> tuple[str, int]:
        data = bytes(data)
        try:
            return data.decode("cp1252"), len(data)
        except UnicodeDecodeError:
            return "".join(bytes([each]).decode("latin-1" if each in _HOLES else "cp1252") for each in data), len(data)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return text.encode("cp1252", errors), len(text)

    return codecs.CodecInfo(encode, decode, name=name)


_HOLES = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
codecs.register(_latin1)
