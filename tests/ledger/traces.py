"""Bytes of a person in a ledger: the pseudonym, and all numbers."""

from seepage.ledger._sums import bucket_of


def traces_of(ledger, person):
    """Return the bytes of a person in the sums and in all debits."""
    names = ledger._books.names.of([person])
    (bucket,) = bucket_of(names).tolist()

    def rows(view):
        return [view.sums(bucket), *(sums for _, _, sums in view.parts(buckets=[bucket]))]

    sums = [one.of_people(names).columns for one in ledger._books.ask(rows)]
    numbers = [column for columns in sums for name, column in columns.items() if name != "releases"]
    return [names.tobytes(), *(number.tobytes() for number in numbers if number[0])]
