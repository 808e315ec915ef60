"""From a fitted scikit-learn model and files of its data to a `Leakage`."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage._tables import Model
from seepage._version import __version__
from seepage.errors import InputError, UnreadableError, UnsupportedError
from seepage.execution.storage import Files, OutputFolder, resolve
from seepage.leakage import Leakage
from seepage.linear.files._ids import check_ids
from seepage.linear.files._information import FileInformation
from seepage.linear.files._people import PeopleInFiles
from seepage.linear.files._roles import Roles
from seepage.linear.files._source import SourceInFiles
from seepage.linear.information import Fit, Question, Release, fingerprint


def measure_files(
    model: Model, source: SourceInFiles, question: Question, remarks: tuple[Assumption, ...] = ()
) -> Leakage:
    """Measure a release about people in files: `seepage.measure` when X names files."""
    fit, roles, job = Fit.assembled(model, source).publishing(question.published), source.roles, source.job
    if fit.problem.selects:
        raise UnsupportedError(
            f"A {fit.problem.estimator} with an L1 penalty is not measured over files. Read the rows into memory: "
            "seepage.measure(model, frame, y, ...); or fit with an L2 penalty alone."
        )
    if roles.ids is not None:
        check_ids(source, roles.ids)
    rows = fit.rows
    if job.output is not None:
        rows.files.refuse_inside(*resolve(os.fspath(job.output), job.filesystem))
        note = {
            **job_of(fit, rows.files, roles),
            "noise": noted(question.noise),
            # Which of the parameters leave is told by the model.
            "standard errors": fit.errors,
            "public_label": question.public_label,
            "attributes": None if question.attributes is None else list(question.attributes),
            "public_preprocessing": list(question.public_preprocessing),
        }
        output = OutputFolder.of(job.output, note, resume=job.resume, filesystem=job.filesystem)
        rows = replace(rows, output=output)
        fit = replace(fit, rows=rows)
    label = ", ".join(roles.target)
    with _tidied(rows.output):
        minimizer = fit.minimize()
    release = Release.of(fit, minimizer, question, label)
    _check_names(roles, release.attribute_names)
    people = PeopleInFiles(rows.files, roles.ids, roles.groups)
    information = information_in_files(fit, release, people, remarks)
    with _tidied(rows.output):
        information.distributions("examples")
    if rows.output is not None:
        rows.output.forget("sums")
    return Leakage(information)


def information_in_files(
    fit: Fit, release: Release, people: PeopleInFiles, remarks: tuple[Assumption, ...]
) -> FileInformation:
    """Return what a release says of people in files; nobody was looked at yet."""
    return FileInformation.of(fit, release, people, *_of_a_table(fit.rows.files), *remarks)


@contextmanager
def _tidied(output: OutputFolder | None) -> Iterator[None]:
    """Tidy up after workers that were stopped in the midst of a file, and note which file of rows was damaged."""
    try:
        yield
    except BaseException as error:
        if output is not None:
            output.forget()
            if isinstance(error, UnreadableError):
                output.excuse(error.path)
        raise


def noted(noise: GaussianNoise) -> str:
    """Return what tells a noise from another in the note of a job."""
    if noise.scale is not None:
        return repr(noise)
    return fingerprint(np.asarray(noise.covariance)) if noise.shape is None else fingerprint(noise.shape)


def job_of(fit: Fit, files: Files, roles: Roles) -> dict[str, object]:
    """Return what makes two jobs the same: the model, the files and what their columns are for."""
    problem, affine = fit.problem, fit.affine
    settings = problem.estimator, problem.loss, problem.intercept, fit.table.names, affine.coordinates
    classes = () if problem.labels.classes is None else problem.labels.classes.tolist()
    numbers = problem.parameters, problem.penalty, problem.basis, affine.weights.toarray(), affine.offset
    filtered = {} if files.where is None else {"where": str(files.where)}
    return {
        **filtered,
        "seepage": __version__,
        "model": fingerprint(settings, classes, *numbers, affine.curves),
        "files": files.known(),
        "columns": {what: list(names) for what, names in roles.named().items()},
        "weights": repr(roles.weight),
    }


def _of_a_table(files: Files) -> tuple[Assumption, ...]:
    """State the version of a Delta table whose rows the people are."""
    if files.state is None:
        return ()
    name, version = files.state
    words = "The people are the rows of version {version} of the Delta table {table}."
    return (Assumption("snapshot", words, {}, {"table": name, "version": str(version)}),)


def _check_names(roles: Roles, attributes: Sequence[str]) -> None:
    for what, name, results in (
        ("ids", roles.ids, ("eta", "dfil", *attributes)),
        ("groups", roles.groups, ("eta", "dfil")),
    ):
        if name in results:
            raise InputError(f"{what}={name!r} is also the name of a result: rename the column.")
