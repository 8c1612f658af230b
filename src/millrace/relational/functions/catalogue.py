"""Imports every module that registers built-in functions."""

from __future__ import annotations
