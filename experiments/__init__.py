"""The papers' experiments, repeated on the papers' data: one module a figure or table."""
