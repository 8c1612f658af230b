"""MD5, SHA1, SHA2 and its like: digests of text in hexadecimal digits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import TEXT_OR_BYTES, WHOLE, takes
from millrace.relational.rex import Call

_ALGORITHMS: dict[str, Callable[[bytes], Any]] = {
    "MD5": hashlib.md5,
    "SHA1": hashlib.sha1,
    "SHA224": hashlib.sha224,
    "SHA256": hashlib.sha256,
    "SHA384": hashlib.sha384,
    "SHA512": hashlib.sha512,
}
_SPARK = {"MD5": "md5({0})", "SHA1": "sha1({0})"}
_BY_LENGTH = {224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}


def _digest(algorithm: Callable[[bytes], Any], value: str | bytes) -> str:
    found: str = algorithm(value.encode() if isinstance(value, str) else value).hexdigest()
    return found


def _register(name: str, algorithm: Callable[[bytes], Any]) -> None:
    length = algorithm(b"").digest_size * 2
    bits = name.removeprefix("SHA")
    spark = _SPARK.get(name, f"sha2({{0}}, {bits})")

    @scalar(name, takes(TEXT_OR_BYTES, result=t.CharType(length)), spark=spark)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return by_row(call, args, lambda value: _digest(algorithm, value))


for _name, _algorithm in _ALGORITHMS.items():
    _register(_name, _algorithm)


@scalar("SHA2", takes(TEXT_OR_BYTES, WHOLE, result=t.VarCharType(128)), syntax="SHA2(string, 224 | 256 | 384 | 512)")
def _sha2(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value, algorithm: _digest(algorithm, value), prepare={1: _of_length})


def _of_length(bits: int) -> Callable[[bytes], Any]:
    found = _BY_LENGTH.get(bits)
    if found is None:
        raise ValueError(f"SHA2 has digests of 224, 256, 384 and 512 bits, not of {bits}")
    return found
