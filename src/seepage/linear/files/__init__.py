"""Rows in Parquet files: the same two passes, run where the rows are."""
