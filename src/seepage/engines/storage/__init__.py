"""Files that are read and written a unit of work at a time, and how far that is: for whoever gives engines work."""

from seepage.engines.storage._files import Files as Files
from seepage.engines.storage._files import Paths as Paths
from seepage.engines.storage._files import Unit as Unit
from seepage.engines.storage._files import naming as naming
from seepage.engines.storage._files import read as read
from seepage.engines.storage._files import resolve as resolve
from seepage.engines.storage._output import Output as Output
from seepage.engines.storage._progress import Progress as Progress
from seepage.engines.storage._progress import followed as followed
from seepage.engines.storage._progress import shown_on as shown_on
