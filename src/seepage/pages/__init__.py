"""Documents and their writers: HTML, text, Markdown, JSON; words for numbers and names."""

from seepage.pages._document import SCHEMA as SCHEMA
from seepage.pages._document import Document as Document
from seepage.pages._document import Grid as Grid
from seepage.pages._document import Item as Item
from seepage.pages._document import Mark as Mark
from seepage.pages._document import Section as Section
from seepage.pages._files import DocumentFiles as DocumentFiles
from seepage.pages._html import Picture as Picture
from seepage.pages._html import html as html
from seepage.pages._html import snippet as snippet
from seepage.pages._text import lines as lines
from seepage.pages._text import markdown as markdown
from seepage.pages._text import section_lines as section_lines
from seepage.pages._text import text as text
from seepage.pages._words import NOTHING as NOTHING
from seepage.pages._words import WIDTH as WIDTH
from seepage.pages._words import counted as counted
from seepage.pages._words import most as most
from seepage.pages._words import name as name
from seepage.pages._words import number as number
from seepage.pages._words import percent as percent
from seepage.pages._words import sentence as sentence
from seepage.pages._words import visible as visible
from seepage.pages._words import wrapped as wrapped
