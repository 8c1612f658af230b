"""The web page of the shop's charts."""
