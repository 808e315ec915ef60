"""Measured claims, each runnable by anyone: `python -m benchmarks NAME`."""
