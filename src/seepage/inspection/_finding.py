"""What was found in a file, as facts; sentences are made last."""

from dataclasses import dataclass, replace
from typing import Literal

from seepage.pages import counted

Word = Literal["pass", "review", "fail"]
Kind = Literal["rows", "scaled", "ids", "stored", "length", "single", "rare", "seeds", "path", "uncompared", "unread"]
_WORDS: dict[Kind, Word] = {"rows": "fail", "scaled": "fail", "ids": "fail"}
RULES: dict[Kind, str] = {
    "rows": "Values of people are in the file.",
    "scaled": "Values of people are in the file, scaled or in another order.",
    "ids": "Ids of people are in the file.",
    "stored": "An object of a class that stores people is in the file.",
    "length": "One number for each person is in the file.",
    "single": "Values of single people are in the file.",
    "rare": "A level that only a few people have is in the file.",
    "seeds": "The seeds of random samples of people are in the file.",
    "path": "A path with the name of a user is in the file.",
    "uncompared": "The file was compared with nobody, because no people were given.",
    "unread": "A part of the file was not read.",
}
ORDER = tuple(RULES)
_INSTEAD = "Please send a table of the coefficients instead, or a model without its data (skops)."


@dataclass(frozen=True)
class Finding:
    """Something in a file that should not leave, or that somebody should look at.

    Attributes
    ----------
    kind : str
        "rows", "scaled", "ids", "stored", "length", "single", "rare", "seeds",
        "path", "uncompared" or "unread".
    where : str
        The first place in the file.
    about : tuple of str
        The columns whose values it is; or what a class stores; or why something was not read.
    people : int
        Of how many people it is, as far as that is known.
    sure : str
        "certain", "likely" or "possible".
    places : int
        In how many places it is.
    """

    kind: Kind
    where: str
    about: tuple[str, ...] = ()
    people: int = 0
    sure: Literal["certain", "likely", "possible"] = "certain"
    places: int = 1

    @property
    def word(self) -> Word:
        """What it makes of the file: "review" or "fail"."""
        if self.kind == "stored":
            return "fail" if self.sure == "likely" else "review"
        return _WORDS.get(self.kind, "review")

    def sentence(self) -> str:
        """Say it to whoever made the file, without anybody's value."""
        shown = ", ".join(self.about[:6]) + (f" and {len(self.about) - 6} more" if len(self.about) > 6 else "")
        whom = f" of {counted(self.people, 'person').replace('persons', 'people')}" if self.people else ""
        more = f" (and {counted(self.places - 1, 'other place')})" if self.places > 1 else ""
        at = f"{self.where}{more}"
        return {
            "rows": f"{at} holds values{whom} as they are in the data ({shown}). {_INSTEAD}",
            "scaled": f"{at} holds values{whom}, scaled, shifted or in another order ({shown}). {_INSTEAD}",
            "ids": f"{at} holds ids{whom} ({shown}). Please take them out.",
            "length": f"{at} holds one number for each person{whom}, such as residuals or fitted values. {_INSTEAD}",
            "single": f"{at} holds values of single people, such as the smallest or largest of a column. Please use "
            "means and standard deviations, or limits that were chosen beforehand.",
            "rare": f"{at} names a level of {shown} that fewer than 3 people have. Please merge rare levels first.",
            "stored": f"{at} holds an object that stores {shown}. {_INSTEAD}",
            "path": f"{at} holds a path with the name of a user. Please clear it.",
            "seeds": f"{at} holds the seeds of {counted(self.people, 'tree')}: the samples of people that trees were "
            "grown on can be drawn again. Please set random_state of every tree to None before saving.",
            "uncompared": f"{at} was compared with nobody; it holds {shown or 'no column of 20 values'}. Please "
            "name the people: --data people.parquet.",
            "unread": f"{at} was not read: {shown}. Please send it in a format that is read (CSV, Parquet, skops), "
            "or in smaller files.",
        }[self.kind]

    def joined(self, other: "Finding") -> "Finding":
        """Return it with another of its kind in the same file."""
        about = tuple(dict.fromkeys((*self.about, *other.about)))
        people, sure = max(self.people, other.people), min(self.sure, other.sure, key=_SURE.index)
        return replace(self, about=about, people=people, sure=sure, places=self.places + other.places)


_SURE = ("certain", "likely", "possible")
