"""Cases in which Millrace is to differ from PyFlink, with the reason."""

from __future__ import annotations

KNOWN: dict[str, str] = {}
"""reason by ``module.name`` of a case"""
