"""Exports: the conversions of results and tables to frames and texts, and the files that they are written to."""
