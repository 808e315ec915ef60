"""The experiments behind the figures in the documentation: ``python -m experiments NAME``."""
