"""The version, where everything below the face can read it."""

__version__ = "1.0.0rc2"
