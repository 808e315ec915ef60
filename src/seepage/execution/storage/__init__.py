"""Files that are read and written a unit of work at a time, and how far that is: for whoever gives engines work."""

from seepage.execution._watch import Watch as Watch
from seepage.execution._watch import unwatched as unwatched
from seepage.execution.storage._at_once import at_once as at_once
from seepage.execution.storage._files import Files as Files
from seepage.execution.storage._files import Paths as Paths
from seepage.execution.storage._output import OutputFolder as OutputFolder
from seepage.execution.storage._paths import naming as naming
from seepage.execution.storage._paths import resolve as resolve
from seepage.execution.storage._progress import Progress as Progress
from seepage.execution.storage._progress import followed as followed
from seepage.execution.storage._progress import shown_on as shown_on
from seepage.execution.storage._progress import together as together
from seepage.execution.storage._read import FileStore as FileStore
from seepage.execution.storage._read import Filter as Filter
from seepage.execution.storage._read import Unit as Unit
