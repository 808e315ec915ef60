"""Verdicts on files of trees in a request."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from seepage._near import did_you_mean, several
from seepage._tables import Table
from seepage.errors import InputError
from seepage.request._decided import OutputVerdict
from seepage.request._given import HandedIn
from seepage.request._people import RequestPeople
from seepage.trees import decided, is_trees, measure_trees, read_file

BOOSTED: Final = (".json", ".ubj", ".txt")
# Where support vectors, neighbors, Gaussian processes and kernel models keep people.
_RECORDS: Final = ("support_vectors_", "_fit_X", "X_train_", "X_fit_")
_SAYS: Final = ("outcome", "columns", "where", "order", "threshold", "equations")


def of_records(given: HandedIn, people: RequestPeople) -> OutputVerdict | None:
    """Return the verdict on trees, and on models that hold records themselves; None for other models.

    Parameters
    ----------
    given : HandedIn
    people : RequestPeople
    """
    model = _model(given)
    records = next((len(getattr(model, name)) for name in _RECORDS if hasattr(model, name)), 0)
    if records:
        what = f"{type(model).__name__}, which holds records"
        reason = f"It holds the records of {records:,} people. Ask for a regression, or for its answers in a table."
        return OutputVerdict(given.name, what, "fail", True, reasons=(reason,))
    return _of_trees(given, model, people) if isinstance(model, Path) or is_trees(model) else None


def _model(given: HandedIn) -> Any:
    if given.path.suffix.lower() in BOOSTED:
        return given.path
    if given.path.suffix.lower() != ".skops":
        return None
    from seepage.request._skops import read_skops

    model = read_skops(given.path)
    return getattr(model, "_final_estimator", model) if not is_trees(model) else model


def _of_trees(given: HandedIn, model: Any, people: RequestPeople) -> OutputVerdict:
    """Return the verdict on a model of trees.

    Parameters
    ----------
    given : HandedIn
        With a TOML file: outcome; columns, in the order of the model; where; order = "not known" if attackers do not
        know the order of the training table; threshold; equations.
    model : estimator or Path
    people : RequestPeople
    """
    says = given.says
    for name in sorted(set(says) - set(_SAYS)):
        raise InputError(f"{given.name}.toml sets {name!r}, which says nothing of trees: {several(_SAYS)} do.")
    columns = [*says.get("columns", getattr(model, "feature_names_in_", ()))]
    for name in (says.get("outcome"), *columns):
        if name not in people.table.names:
            raise InputError(
                f"{given.name}.toml: there is no column {name!r}. {did_you_mean(str(name), people.table.names)}Write "
                'outcome = "COLUMN" and columns = [...], in the order in which the model has them.'
            )
    if not columns:
        raise InputError(f"{given.name}.toml: which columns does the model have? Write columns = [...], in its order.")
    rows = Table.of(people.frame(people.rows(says.get("where"))))
    y = rows.column(says["outcome"])
    classes = read_file(model).classes if isinstance(model, Path) else None
    if classes is not None and not np.isin(y, classes).all():
        # The file numbers its classes in their order.
        y = np.unique(y if y.dtype.kind in "biuf" else y.astype(str), return_inverse=True)[1]
    leak = measure_trees(model, Table.of(rows.native, columns).native, y, ids=rows.column(people.ids))
    word, reasons = decided(leak, says)
    what = f"{leak.fitted.leaves.shape[1]} trees of {says['outcome']}"
    return OutputVerdict(given.name, what, word, True, len(rows), None, reasons)
