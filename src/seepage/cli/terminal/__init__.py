"""What a user sees: screens, documents, progress."""
