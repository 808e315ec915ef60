"""The version, where everything below the face can read it."""

__version__ = "0.1.0"
