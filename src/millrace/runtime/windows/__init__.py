"""What the window operators are made of: strategies, contexts, contents, merging sets, slices."""
