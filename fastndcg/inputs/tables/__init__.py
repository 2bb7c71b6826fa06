"""Rows in the objects of other libraries, brought to Arrow tables."""
