"""The noise of what is published, for other numbers than parameters."""

from seepage.release._mechanism import drawn as drawn
