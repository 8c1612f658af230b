"""The old import path of ``KeyValueStore``, for programs with a state backend of their own."""

from millrace.common.state.storage import KeyValueStore, StorePlace

__all__ = ["KeyValueStore", "StorePlace"]
