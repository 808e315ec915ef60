"""The largest eigenvalue, of many small matrices or of one large: the structure of a matrix picks the algorithm."""

from seepage._tops import tops_of_all as tops_of_all
from seepage.linear.spectra._door import Factors as Factors
from seepage.linear.spectra._door import Gram as Gram
from seepage.linear.spectra._door import Matrices as Matrices
from seepage.linear.spectra._door import Operators as Operators
from seepage.linear.spectra._door import Sandwich as Sandwich
from seepage.linear.spectra._door import largest as largest
from seepage.linear.spectra._secular import top_eigenvalues as top_eigenvalues
