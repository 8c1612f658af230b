"""Redis: streams, read from positions and written once; publish and subscribe."""
