"""Pulsar: a connector that is not in Millrace yet.

Importing the module works, using one of PyFlink's names raises NotImplementedError.
"""

from __future__ import annotations

from millrace.datastream.not_yet import module_getattr

__getattr__ = module_getattr(__name__)
