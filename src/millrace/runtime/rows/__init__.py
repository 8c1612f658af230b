"""Rows of keyed state on the local disk: sorted, immutable runs of columns, and their merging."""
