"""Formulas as formulaic reads them: for statsmodels, if it is told to, and for lifelines.

Formulaic keeps what its own functions have learned of the rows, and nothing of the place where a formula was written:
a function of one's own is not there any more.
"""

import ast
from collections.abc import Hashable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnsupportedError
from seepage.linear.columns._design import Design, Factor, Product

Array = NDArray[np.float64]


def of_formulaic(spec: Any, frame: Any) -> Design:
    """Return what a specification of formulaic says, of the rows that it was made for."""
    scoped = [each for structure in spec.structure for each in structure.scoped_terms]
    evaluated = {one.factor.expr: one.factor for each in scoped for one in each.factors}
    factors = {code: _factor(spec, one, frame) for code, one in evaluated.items()}
    products = []
    for each in scoped:
        if each.factors:
            coded = [(factors[one.factor.expr], one) for one in each.factors]
            products.append(Product(tuple((made, _coding(spec, made, one)) for made, one in coded), float(each.scale)))
        elif each.scale != 1:
            raise UnsupportedError(
                f"The formula {str(spec.formula)!r} has a constant {each.scale} for an intercept. Write 1 instead."
            )
    columns = list(spec.column_names)
    return Design(
        tuple(products), columns.index("Intercept") if "Intercept" in columns else None, partial(_matrix, spec)
    )


def _matrix(spec: Any, frame: Any) -> Array:
    return np.asarray(deepcopy(spec).get_model_matrix(frame, output="numpy", na_action="raise"), dtype=np.float64)


def _factor(spec: Any, evaluated: Any, frame: Any) -> Factor:
    from formulaic.parser.types import Term
    from formulaic.transforms import TRANSFORMS

    factor, code = evaluated.factor, evaluated.expr
    for variable in evaluated.variables or ():
        if variable.source == "context" and str(variable).split(".")[0] not in TRANSFORMS:
            raise UnsupportedError(
                f"The term {code!r} of the formula takes {str(variable)!r} from the program around it, which formulaic "
                "does not keep. Make a column of it before, and name that; or let patsy read the formula: "
                'statsmodels.formula.options.formula_engine = "patsy".'
            )
    found = {str(variable) for variable in evaluated.variables or () if variable.source == "data"}
    names = tuple(str(name) for name in frame.columns if str(name) in found)
    levels = _levels(spec, factor)
    # All columns of this factor alone, whether or not they go with an intercept.
    alone = _EvaluatedByFormulaic(
        spec.update(formula=[Term([factor])], structure=None, ensure_full_rank=False, output="numpy"), names
    )
    states = {name: state for name, state in spec.transform_state.items() if state and name in code}
    return Factor(
        code=code,
        tree=ast.Name(code) if factor.eval_method.value == "lookup" else _tree(code),
        names=names,
        levels=levels,
        features=len(levels) if levels is not None else alone(frame.iloc[:1]).shape[1],
        evaluated=alone,
        learned=bool(states),
        knots=tuple(states.get(code, {}).get("knots", ())),
        degrees=float(states.get(code, {}).get("ddof", 0.0)),
    )


def _tree(code: str) -> ast.expr:
    try:
        return ast.parse(code, mode="eval").body
    except SyntaxError:
        # Columns in backticks have names that are no words of Python: it is more than such a column in any case.
        return ast.Constant(code)


def _levels(spec: Any, factor: Any) -> tuple[Hashable, ...] | None:
    kind, state = spec.encoder_state[factor.expr]
    if kind.value != "categorical":
        return None
    if "categories" not in state:
        raise UnsupportedError(
            f"The term {factor.expr!r} of the formula makes levels of values in a way that is not known. Make a column "
            "of the levels before, and name that."
        )
    return tuple(state["categories"])


def _coding(spec: Any, made: Factor, scoped: Any) -> Array | None:
    """Return what is made of a factor's levels, or which of its columns go with an intercept."""
    factor = scoped.factor.factor
    if factor in spec.factor_contrasts:
        return np.asarray(spec.factor_contrasts[factor].get_coding_matrix(reduced_rank=scoped.reduced), dtype=float)
    return np.eye(made.features)[:, 1:] if scoped.reduced else None


@dataclass(frozen=True, eq=False)
class _EvaluatedByFormulaic:
    """Evaluates a factor of numbers, with what it has stored."""

    spec: Any
    names: tuple[str, ...]

    def __call__(self, frame: Any) -> NDArray[Any]:
        import pandas as pd

        rows = pd.DataFrame({name: np.asarray(frame[name]) for name in self.names})
        return np.asarray(deepcopy(self.spec).get_model_matrix(rows, na_action="ignore"))
