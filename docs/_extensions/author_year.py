"""A list of papers by author and year, as the pages cite them."""

from collections.abc import Iterable, Iterator
from typing import Any

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx


class AuthorYearLabels(BaseLabelStyle):
    """Labels such as "Hannun et al., 2021"."""

    def format_labels(self, sorted_entries: Iterable[Any]) -> Iterator[str]:
        for entry in sorted_entries:
            people = [
                " ".join([*one.prelast_names, *one.last_names]).replace("{", "") for one in entry.persons["author"]
            ]
            people = [name.replace("}", "") for name in people]
            names = f"{people[0]} et al." if len(people) > 2 else " and ".join(people)
            yield f"{names}, {entry.fields['year']}"


class AuthorYearStyle(Style):
    """The plain style with those labels."""

    default_label_style = AuthorYearLabels


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the style known as `author_year`."""
    register_plugin("pybtex.style.formatting", "author_year", AuthorYearStyle, force=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
