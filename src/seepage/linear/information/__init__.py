"""The information of a linear release, row by row and jointly."""
