"""Rows as the passes see them."""
