"""From a fitted scikit-learn model and files of its data to a `Leakage`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seepage._errors import InputError
from seepage._noise import GaussianNoise
from seepage._tables import Table
from seepage._version import __version__
from seepage.engines._files import Files
from seepage.engines._output import Output
from seepage.engines._progress import Progress
from seepage.leakage import Leakage
from seepage.linear.files._information import FileInformation
from seepage.linear.files._labels import Tally, Tallying
from seepage.linear.files._people import PeopleInFiles
from seepage.linear.files._roles import Job, Roles
from seepage.linear.files._rows import FileReader, FileRows
from seepage.linear.information._passes import fingerprint, in_runs
from seepage.linear.objective._estimators import check_supported, class_weight_of, labels_of, read
from seepage.linear.objective._fitted import Fit, Release, affine_of, fitted_columns, split
from seepage.linear.rows._rows import Reading, batch_rows


def measure_files(
    model: Any,
    source: Any,
    roles: Roles,
    noise: GaussianNoise,
    public_label: bool,
    attributes: Sequence[str] | None,
    job: Job,
) -> Leakage:
    """Measure a release about people in files: `seepage.measure` when X names files."""
    _, estimator = split(model)
    check_supported(estimator)
    fit = fit_of(model, Files.of(source, job.filesystem), roles, job)
    rows = fit.rows
    assert isinstance(rows, FileRows)
    if job.output is not None:
        note = {
            **job_of(fit, rows.files, roles),
            "noise": noted(noise),
            "public_label": public_label,
            "attributes": None if attributes is None else list(attributes),
        }
        output = Output.of(job.output, note, resume=job.resume, filesystem=job.filesystem)
        rows = replace(rows, output=output)
        fit = replace(fit, rows=rows)
    release = Release.of(fit, fit.minimize(), noise, attributes, ", ".join(roles.target), public_label)
    information = FileInformation(
        people=PeopleInFiles(rows.files, roles.ids, roles.groups),
        rows=rows,
        geometry=release.geometry,
        penalty=fit.problem.penalty,
        attribute_names=release.attribute_names,
        categorical=release.categorical,
        assumptions=release.assumptions,
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


def fit_of(model: Any, files: Files, roles: Roles, job: Job) -> Fit:
    """Check that a model and the columns of files can belong together, and read what the model minimized."""
    for what, columns in roles.named().items():
        files.require(columns, what)
    preprocess, estimator = split(model)
    named = fitted_columns(preprocess, estimator)
    names = named or roles.features(files.schema.names)
    files.require(names, "A feature of the model")
    affine = affine_of(preprocess, estimator, names)
    coder = labels_of(estimator)
    class_weight, total = None, float(files.count)
    if roles.weight is not None or getattr(estimator, "class_weight", None) is not None:
        tally = tally_of(files, roles, job, coder.classes is not None)
        total = tally.weight
        if coder.classes is not None:
            counts, weighted = tally.of(coder.classes)
            class_weight = class_weight_of(estimator, counts, weighted)
            total = total if class_weight is None else float(class_weight @ weighted)
    reading = Reading(preprocess, coder, class_weight, bool(estimator.fit_intercept))
    kept = tuple(files.schema.field(name) for name in (roles.ids, roles.groups) if name is not None)
    by_name = preprocess is not None and named is not None
    size = batch_rows(affine.features)
    reader = FileReader(files.filesystem, tuple(names), roles, reading, size, by_name, kept)
    rows = FileRows(files, reader, job.engine, Progress(job.progress), None)
    problem = read(estimator, coder, class_weight, total, files.count)
    return Fit(problem, affine, Table.header(names), rows, preprocess is not None)


def tally_of(files: Files, roles: Roles, job: Job, classifier: bool) -> Tally:
    """Count the labels, in a pass over their column alone."""
    runs = in_runs(files.units, job.engine.workers)
    with Progress(job.progress).of("counting labels", len(runs)) as watch:
        return job.engine.total(Tallying(files.filesystem, roles, classifier), runs, watch)


def job_of(fit: Fit, files: Files, roles: Roles) -> dict[str, Any]:
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
