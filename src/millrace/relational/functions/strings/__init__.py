"""Functions of text: parts, patterns, encodings, digests."""
