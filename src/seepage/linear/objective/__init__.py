"""What a model minimized, and where its minimum is."""
