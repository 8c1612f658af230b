"""Batch mode on more data than memory holds: the input of keyed operators, gathered and given to them key by key."""
