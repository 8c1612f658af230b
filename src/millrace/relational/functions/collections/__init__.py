"""Functions of arrays, maps, rows, objects and bitmaps."""
