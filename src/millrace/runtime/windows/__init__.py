"""The parts of window operators: strategies, contexts, contents, merging windows, slices."""
