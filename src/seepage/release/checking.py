"""What is tried before anybody is told that a release meets its policy."""

from seepage.release._anew import Remeasured as Remeasured
from seepage.release._attacked import Attacked as Attacked
from seepage.release._attacked import attacked as attacked
