"""Parquet files: streams of tables in bounded memory."""
