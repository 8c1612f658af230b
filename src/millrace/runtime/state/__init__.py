"""Keyed and operator state: tables that record what an epoch changed, the user's state objects, and their backends."""
