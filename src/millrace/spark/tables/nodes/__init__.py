"""Plan nodes as DataFrames, a function each."""
