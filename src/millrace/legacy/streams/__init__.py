"""Older names of the DataStream API: time characteristics, short ways to windows, state backends, functions."""
