"""The largest eigenvalue, of many small matrices or of one large: the structure of a matrix picks the algorithm."""

from seepage._tops import tops_of_all as tops_of_all
from seepage.linear.spectra._door import largest_of_factors as largest_of_factors
from seepage.linear.spectra._door import largest_of_sandwich as largest_of_sandwich
from seepage.linear.spectra._lanczos import largest_by_products as largest_by_products
from seepage.linear.spectra._secular import top_eigenvalues as top_eigenvalues
