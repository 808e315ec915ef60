"""From raw columns to features."""
