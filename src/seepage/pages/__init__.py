"""Pages that need nothing else: HTML that names from anywhere cannot break, words for numbers, one stylesheet."""

from seepage.pages._html import Content as Content
from seepage.pages._html import Html as Html
from seepage.pages._html import picture as picture
from seepage.pages._html import tag as tag
from seepage.pages._html import together as together
from seepage.pages._parts import article as article
from seepage.pages._parts import bullets as bullets
from seepage.pages._parts import page as page
from seepage.pages._parts import paragraph as paragraph
from seepage.pages._parts import section as section
from seepage.pages._parts import table as table
from seepage.pages._parts import terms as terms
from seepage.pages._twins import Twins as Twins
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
