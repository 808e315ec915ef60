"""Fitted models that somebody wrote down: coefficients by name, from R, Stata or by hand."""

from seepage.linear.written._assembled import Assembled as Assembled
from seepage.linear.written._compared import explaining as explaining
from seepage.linear.written._printed import PrintedModel as PrintedModel
from seepage.linear.written._printed import read_printed as read_printed
from seepage.linear.written._table import ModelTable as ModelTable
from seepage.linear.written._toml import text_of as text_of
