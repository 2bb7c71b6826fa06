"""Comparisons for people: text in every format, plots, and a page that stands on its own."""
