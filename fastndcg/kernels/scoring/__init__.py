"""Kernels for tiles of scores, users by items."""
