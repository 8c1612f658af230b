"""Statements that are no queries: CREATE, ALTER, INSERT, SHOW and others."""
