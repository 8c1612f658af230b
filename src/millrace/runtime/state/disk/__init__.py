"""Keyed state on the local disk: tables whose content lies in LMDB, with the changes since in memory."""
