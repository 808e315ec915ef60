"""From a fitted scikit-learn model and files of its data to a `Leakage`."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seepage._errors import InputError
from seepage._noise import GaussianNoise
from seepage._tables import Model
from seepage._version import __version__
from seepage.engines.storage import Files, Output
from seepage.leakage import Leakage
from seepage.linear.files._ids import check_ids
from seepage.linear.files._information import FileInformation
from seepage.linear.files._people import PeopleInFiles
from seepage.linear.files._roles import Roles
from seepage.linear.files._rows import FileRows
from seepage.linear.files._source import SourceInFiles
from seepage.linear.files._weights import StoredWeights
from seepage.linear.information import Fit, Release, fingerprint


def measure_files(
    model: Model,
    source: SourceInFiles,
    noise: GaussianNoise,
    public_label: bool,
    attributes: Sequence[str] | None,
    numbers: Collection[str] | None = None,
    public_preprocessing: Sequence[str] = (),
) -> Leakage:
    """Measure a release about people in files: `seepage.measure` when X names files."""
    fit, roles, job = Fit.assembled(model, source), source.roles, source.job
    # Weights that were stored are of rows that were measured before.
    if roles.ids is not None and not isinstance(roles.weight, StoredWeights):
        check_ids(source, roles.ids)
    rows = fit.rows
    if job.output is not None:
        note = {
            **job_of(fit, rows.files, roles),
            "noise": noted(noise),
            "public_label": public_label,
            "attributes": None if attributes is None else list(attributes),
            "public_preprocessing": list(public_preprocessing),
        }
        output = Output.of(job.output, note, resume=job.resume, filesystem=job.filesystem)
        rows = replace(rows, output=output)
        fit = replace(fit, rows=rows)
    label = ", ".join(roles.target)
    release = Release.of(fit, fit.minimize(), noise, attributes, label, public_label, numbers, public_preprocessing)
    information = FileInformation(
        people=PeopleInFiles(rows.files, roles.ids, roles.groups),
        rows=rows,
        geometry=release.geometry,
        penalty=fit.problem.penalty,
        attribute_names=release.attribute_names,
        categorical=release.categorical,
        assumptions=release.assumptions,
        stays=release.geometry.scales is not None,
        units=release.units,
        noise=noise,
    )
    _check_names(roles, release.attribute_names)
    try:
        information.distributions("examples")
    except BaseException:
        # Workers that were stopped in the midst of a file could not tidy up after themselves.
        if rows.output is not None:
            rows.output.forget()
        raise
    if rows.output is not None:
        rows.output.forget("sums")
    return Leakage(information)


def noted(noise: GaussianNoise) -> str:
    """Return what tells a noise from another in the note of a job."""
    return repr(noise) if noise.scale is not None else fingerprint(np.asarray(noise.covariance))


def job_of(fit: Fit[FileRows], files: Files, roles: Roles) -> dict[str, Any]:
    """Return what makes two jobs the same: the model, the files and what their columns are for."""
    problem, affine = fit.problem, fit.affine
    settings = problem.estimator, problem.loss, problem.intercept, fit.table.names, affine.coordinates
    classes = () if problem.labels.classes is None else problem.labels.classes.tolist()
    numbers = problem.parameters, problem.penalty, affine.matrix.toarray(), affine.offset
    listed = [(unit.path, unit.groups, unit.rows, unit.size) for unit in files.units]
    return {
        "seepage": __version__,
        "model": fingerprint(settings, classes, *numbers),
        "files": fingerprint(listed),
        "columns": {what: list(names) for what, names in roles.named().items()},
        "weights": repr(roles.weight),
    }


def _check_names(roles: Roles, attributes: Sequence[str]) -> None:
    for what, name in (("ids", roles.ids), ("groups", roles.groups)):
        if name in ("eta", "dfil", *attributes):
            raise InputError(f"{what}={name!r} is also the name of a result: rename the column.")
