"""What a fitted model prints besides its coefficients, and how each person moves it."""

from seepage.linear.printed._files import printed_in_files as printed_in_files
from seepage.linear.printed._numbers import COUNTS as COUNTS
from seepage.linear.printed._of import in_raw_units as in_raw_units
from seepage.linear.printed._of import printed_of as printed_of
from seepage.linear.printed._of import published_numbers as published_numbers
from seepage.linear.printed._of import refuse_choices as refuse_choices
from seepage.linear.printed._of import refuse_weights as refuse_weights
from seepage.linear.printed._survival import printed_survival as printed_survival
