"""Keyed state in a store that a user's own state backend provides."""
