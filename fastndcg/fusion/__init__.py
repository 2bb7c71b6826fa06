"""Fuse runs: the union of their documents, normalisations, methods, fusion conventions, and the function `fuse`."""
