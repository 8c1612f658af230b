"""Keyed state on the local disk: tables whose content is in LMDB, with the latest changes in memory."""
