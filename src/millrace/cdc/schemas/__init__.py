"""How tables of the sink follow those of the source: merging, widening, what a behaviour lets through."""
