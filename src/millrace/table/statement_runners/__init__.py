"""Runs statements against a table environment, a module for each kind of statement."""
