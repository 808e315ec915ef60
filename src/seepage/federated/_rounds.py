"""What the rounds of a federation gave away, as the server sees it."""

from collections.abc import Iterable
from os import PathLike

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from seepage._tables import Frame, default_library, frame
from seepage._writing import write_file
from seepage.federated._mod import REFUSED
from seepage.federated._page import page
from seepage.federated._report import NUMBERS, OVERALL, Action, Row, from_metrics

ASSUMPTIONS = (
    "Each client measured itself, with the mod in its own process, trained as it was told to, and told the truth.",
    "A number is the mean over the people a client measured, or over the ten most exposed of them: never that of one "
    "person. Limits were checked against the single most exposed, in the client; that a limit was met or not is known "
    "of them. What has no limit was measured on forty people at most, drawn at random.",
    "dFIL is the information that a layer's noisy sums of clipped gradients carry about one person's input values, all "
    "else known to the attacker: labels, the other people, the order of steps. No credit is given for secret sampling.",
    "With one local step it is that of the update. With several, it is that of all their noisy sums, an upper bound "
    "for an attacker who sees the final weights alone; it is the mean of measurements at the weights before and after "
    "the round, times the steps a person takes part in on average; and what a layer learns of a person through the "
    "weights that other layers had in earlier steps counts with those layers.",
    "Noise that the mod added to a finished update counts, with several local steps, as if spread over them.",
    "dFIL is exact for people with 64 values or fewer. For others it comes from random directions: what is told is "
    "unbiased for each person's information, and errs upwards for the most exposed. Limits were checked against an "
    "upper limit, which a person's dFIL exceeds in at most one of a hundred rounds.",
    "Rounds add up: over several, the square of a person's dFIL is at most the sum of squares.",
    "Numbers are rounded to two digits.",
    "Without noise dFIL is infinite, and susceptibility is that of the squared gradient, in its own unit.",
)


class Rounds:
    """Collect what clients with a `leakage_mod` report in each round.

    Examples
    --------
    >>> import seepage
    >>> from flwr.serverapp.strategy import FedAvg
    >>> rounds = seepage.federated.Rounds()
    >>> strategy = rounds.collecting(FedAvg())
    >>> rounds
    Rounds(0 updates in 0 rounds)

    After ``strategy.start(...)`` there is a frame, and a page to read:

    >>> rounds.frame.columns.tolist()[:4]
    ['round', 'client', 'layer', 'action']
    >>> "<!DOCTYPE html>" in rounds.html()
    True
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def collecting(self, strategy: Strategy) -> Strategy:
        """Return a strategy that does what `strategy` does, and lets these rounds see the replies of clients."""
        return _Collecting(strategy, self)

    def add(self, server_round: int, replies: Iterable[Message]) -> None:
        """Enter the replies of a round of training, for strategies that cannot be wrapped."""
        for reply in replies:
            self._rows.extend(_rows(server_round, reply))

    @property
    def frame(self) -> Frame:
        """One row for each round, client and layer.

        `action` says what became of the layer: sent, dropped or noised; or of the whole reply: refused (by the mod),
        failed (the client did) or unmeasured (a client without the mod). Numbers of a dropped layer are those it would
        have had; of a noised one, those with the noise.
        """
        columns = {name: [getattr(row, name) for row in self._rows] for name in ("round", "client", "layer", "action")}
        columns |= {name: [row.number(name) for row in self._rows] for name in (*NUMBERS, *OVERALL)}
        return frame({**columns, "reason": [row.reason for row in self._rows]}, default_library())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers take for granted, in sentences."""
        return ASSUMPTIONS

    def html(self) -> str:
        """Return a page about the rounds that needs no other file."""
        return page(self._rows, self.assumptions)

    def write_html(self, path: str | PathLike[str]) -> None:
        """Write the page to a file."""
        write_file(path, self.html())

    def __repr__(self) -> str:
        updates = {(row.round, row.client) for row in self._rows}
        return f"Rounds({len(updates)} updates in {len({server_round for server_round, _ in updates})} rounds)"


class _Collecting(Strategy):
    """Another strategy, overheard."""

    def __init__(self, strategy: Strategy, rounds: Rounds) -> None:
        self.strategy = strategy
        self.rounds = rounds

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        heard = list(replies)
        self.rounds.add(server_round, heard)
        return self.strategy.aggregate_train(server_round, heard)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        return self.strategy.configure_train(server_round, arrays, config, grid)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        return self.strategy.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        self.strategy.summary()


def _rows(server_round: int, reply: Message) -> list[Row]:
    # As text: these ids are too large for the integers of most frames.
    client = str(reply.metadata.src_node_id)
    if reply.has_error():
        mark, _, rest = (reply.error.reason or "").partition(": ")
        if mark == REFUSED:
            return [Row(server_round, client, "", "refused", reason=rest)]
        return [Row(server_round, client, "", "failed", reason=reply.error.reason or "")]
    found: list[Row] = []
    for record in reply.content.metric_records.values():
        layers, overall = from_metrics(record)
        for layer, values in layers.items():
            action: Action = "dropped" if values.get("dropped") else "noised" if values.get("noised") else "sent"
            found.append(Row(server_round, client, layer, action, numbers={**values, **overall}))
    return found or [Row(server_round, client, "", "unmeasured")]
