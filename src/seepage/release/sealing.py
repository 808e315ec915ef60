"""The steps of a release before any noise is drawn, and its files."""

from seepage.release._certificate import amount_of as amount_of
from seepage.release._names import read_names as read_names
from seepage.release._publish import Ready as Ready
from seepage.release._publish import check_leaving as check_leaving
from seepage.release._publish import files_of as files_of
from seepage.release._publish import levels_given as levels_given
from seepage.release._publish import ready as ready
from seepage.release._skops import SkopsFile as SkopsFile
from seepage.release._table import check_name as check_name
from seepage.release._terms import Terms as Terms
