"""From what a report says to pages."""
