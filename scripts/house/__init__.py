"""Rules of the house: what imports what, how large files are, which names pages have, how commits are written.

    python -m scripts.house            # all rules; exit code 1 and a line for each break
    python -m scripts.house --figures  # number and size of files, circles, modules with one importer

The tree is parsed once. ``make lint`` runs it. ``map.py`` writes the generated parts of docs/architecture.md.
"""
