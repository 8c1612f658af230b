"""Redis: streams, read from positions and written once; publish and subscribe; keys, looked up and written."""
