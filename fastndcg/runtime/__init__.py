"""Threads, imports, files and the cache: what the package needs from Python and the system."""
