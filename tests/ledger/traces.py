"""Bytes of a person in a ledger: the pseudonym, and all numbers."""

from seepage.ledger._sums import bucket_of


def traces_of(ledger, person):
    """Return the bytes of a person in the sums and in all debits."""
    names = ledger._books.names.of([person])
    (bucket,) = bucket_of(names).tolist()

    def rows(view):
        return [view.sums(bucket), *(part.sums for part in view.parts(buckets=[bucket]))]

    numbers = [column for sums in ledger._books.ask(rows) for column in sums.of_people(names).columns.values()]
    return [names.tobytes(), *(number.tobytes() for number in numbers if number[0])]
