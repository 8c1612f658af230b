"""Async I/O: an event loop beside the task, and the elements that are under way in it."""
