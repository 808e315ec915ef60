"""Every file of every data set, and fetching all that are not here yet."""

from collections.abc import Callable, Iterator

from seepage.datasets import _adult, _cifar, _iwpc, _lfw, _mnist, _pneumonia
from seepage.datasets._fetch import Download, Folder, fetch, is_here
from seepage.errors import DatasetError

FILES: tuple[Download, ...] = (
    *_mnist.SOURCES.values(),
    *_adult.SOURCES.values(),
    _cifar.SOURCE,
    _pneumonia.SOURCE,
    _iwpc.SOURCE,
    _lfw.SOURCE,
)


def missing(data_home: Folder | None = None) -> list[str]:
    """Return the names of the files that are neither in the folder nor in the one that SEEPAGE_DATA names.

    Parameters
    ----------
    data_home : path, optional
        A folder of your own; ~/seepage_data by default.
    """
    return [source.name for source in FILES if not is_here(source, data_home)]


def fetch_all(data_home: Folder | None, say: Callable[[str], None]) -> Iterator[str]:
    """Fetch what is not here, say what happens, and yield the names of the files that could not be had.

    Parameters
    ----------
    data_home : path or None
        Where to.
    say : callable
        Is given one line per file.
    """
    for source in FILES:
        if is_here(source, data_home):
            say(f"here     {source.name}")
            continue
        try:
            fetch(source, data_home, download=True, resume=True)
        except DatasetError as reason:
            say(f"MISSING  {source.name}: {reason}")
            yield source.name
        else:
            say(f"fetched  {source.name}")
