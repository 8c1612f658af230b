"""Tables of services that speak HTTP."""
