"""Stores of state of a user's own, where programs have always imported them from."""

from millrace.common.state.storage import KeyValueStore, StorePlace

__all__ = ["KeyValueStore", "StorePlace"]
