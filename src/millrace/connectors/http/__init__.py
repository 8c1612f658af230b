"""Services that speak HTTP: asked for the rows of keys, and sent what a job writes."""
