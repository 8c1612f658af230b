"""Keyed state: tables that remember what an epoch touched, the state objects of the user, and their backends."""
