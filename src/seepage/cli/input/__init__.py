"""What a user names on the command line: models, rows, policies."""
