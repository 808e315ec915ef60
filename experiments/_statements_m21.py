"""What M21 states, and what we found."""

from collections import Counter
from collections.abc import Callable

from experiments._criterion import Criterion, Interval, Numbers, of
from experiments._statement import Row

TITLE = "M21: Mo, Borovykh et al. (2021)"
_FEATURES = {"maxima": "features of Melis et al.", "entries": "raw entries", "sketch": "signed sketch"}
_PSI = {"sensitivity: label, fro, neurons": "psi by neurons", "sensitivity: label, fro": "psi by weights"}
"""Two readings of the paper's psi: its appendix counts the neurons of two layers, its size is that of the weights."""
_INFORMED = "information: forest, in sample"
"""As the paper defines it: of the best of a family, on the data it was fitted on; its example is a forest."""


def leading(key: str) -> Callable[[Numbers], str]:
    """Say which layer the attack reads best."""

    def found(numbers: Numbers) -> str:
        each = of(numbers, key)
        cells = [
            f"{title}: "
            + ", ".join(
                f"{layer} {mean:.2f}" for layer, mean in zip(each["layers"], each["auc"][kind]["mean"], strict=True)
            )
            + f" (led by {_counted(each['auc'][kind]['leads'])})"
            for kind, title in _FEATURES.items()
        ]
        return (
            f"{_seeds(each)}, {each['rounds']:,} rounds, test accuracy {each['test_accuracy']['mean']:.1%} (majority "
            f"{each['majority']:.1%}); AUC by {'; '.join(cells)}"
        )

    return found


def ahead(values: Numbers, layers: list[str], printed: tuple[str, ...]) -> Interval:
    """Return by how much the best of the printed layers is ahead of the best other, means over seeds."""
    means = dict(zip(layers, zip(values["mean"], values["half_width"], strict=True), strict=True))
    best = {
        which: max((pair for layer, pair in means.items() if (layer in printed) == which), key=lambda pair: pair[0])
        for which in (True, False)
    }
    first, second = (Interval.around(*best[which]) for which in (True, False))
    # Without seeds to compare, an interval is the whole line, and so is the difference.
    return first if first.low == -first.high else first.minus(second)


def leads(key: str, printed: tuple[str, ...], features: tuple[str, ...] = ("maxima",)) -> tuple[Criterion, ...]:
    """Ask whether the printed layer leads, and whether it gives the property away at all."""

    def margin(kind: str) -> Callable[[Numbers], Interval]:
        return lambda n: ahead(of(n, key, "auc", kind), of(n, key, "layers"), printed)

    def auc(kind: str) -> Callable[[Numbers], Interval]:
        def read(numbers: Numbers) -> Interval:
            each, layers = of(numbers, key, "auc", kind), of(numbers, key, "layers")
            at = max((layers.index(layer) for layer in printed), key=lambda i: each["mean"][i])
            return Interval.around(each["mean"][at], each["half_width"][at])

        return read

    name = " or ".join(printed)
    return tuple(
        criterion
        for kind in features
        for criterion in (
            Criterion(f"AUC of {name} by {_FEATURES[kind]}", auc(kind), above=0.5),
            Criterion(f"AUC of {name} minus the best other, by {_FEATURES[kind]},", margin(kind), above=0.0),
        )
    )


def informed(key: str) -> Callable[[Numbers], str]:
    """Say which layer has the most usable information."""

    def found(numbers: Numbers) -> str:
        each = of(numbers, key)
        cells = [
            f"{how}: led by {_counted(each[f'information: {how}']['leads'])}"
            for how in ("forest, in sample", "forest, held out", "logistic, in sample", "logistic, held out")
        ]
        means = zip(each["layers"], each[_INFORMED]["mean"], strict=True)
        return (
            f"{_seeds(each)}; {'; '.join(cells)}; forest in sample: {', '.join(f'{k} {v:.2f}' for k, v in means)} nats"
        )

    return found


def sensitive(key: str) -> Callable[[Numbers], str]:
    """Say which layer is most sensitive."""

    def found(numbers: Numbers) -> str:
        each = of(numbers, key)
        names = [name for name in each if name.startswith("sensitivity: ")]
        total = sum(len(each[name]["leads"]) for name in names)
        held = sum(each[name]["leads"].count("fc1") for name in names)
        cells = [f"{title}: led by {_counted(each[name]['leads'])}" for name, title in _PSI.items()]
        return f"{_seeds(each)}; {'; '.join(cells)}; fc1 leads in {held} of {total} seeds and readings"

    return found


def most_sensitive(key: str) -> tuple[Criterion, ...]:
    """Ask whether the first fully connected layer has the largest sensitivity, in both readings of psi."""

    def read(name: str) -> Callable[[Numbers], Interval]:
        def found(numbers: Numbers) -> Interval:
            each, at = of(numbers, key, f"relative {name}"), of(numbers, key, "layers").index("fc1")
            return Interval.around(each["mean"][at], each["half_width"][at])

        return found

    # The largest has 1: a layer that always leads has it without any spread.
    return tuple(
        Criterion(f"sensitivity of fc1 over the largest, {title},", read(name), above=1 - 1e-9)
        for name, title in _PSI.items()
    )


def going_with(key: str) -> Callable[[Numbers], str]:
    """Say how the two measures go with the attack over layers."""

    def found(numbers: Numbers) -> str:
        each = of(numbers, key)
        names = {
            "information: forest, held out": "forest held out",
            "information: logistic, held out": "logistic held out",
            "information: forest, in sample": "forest in sample",
            "information: logistic, in sample": "logistic in sample",
            "sensitivity: output, fro": "sensitivity to the output",
            **{name: f"sensitivity to the label, {title}" for name, title in _PSI.items()},
        }
        cells = [
            f"{title} {_signed(each['correlation_with_auc'][name]['mean'])}"
            + (f" ± {each['correlation_with_auc'][name]['half_width']:.2f}" if each["seeds"] > 2 else "")
            for name, title in names.items()
        ]
        return f"correlation with the AUC over layers, {_seeds(each)}: {', '.join(cells)}"

    return found


def similar(key: str) -> tuple[Criterion, ...]:
    """Ask whether the patterns over layers go together."""

    def read(name: str) -> Callable[[Numbers], Interval]:
        def found(numbers: Numbers) -> Interval:
            each = of(numbers, key, "correlation_with_auc", name)
            return Interval.around(each["mean"], each["half_width"])

        return found

    titles = {_INFORMED: "V-information", **{name: f"sensitivity, {title}" for name, title in _PSI.items()}}
    return tuple(
        Criterion(f"correlation with the AUC over layers: {title},", read(name), above=0.0)
        for name, title in titles.items()
    )


def _seeds(each: Numbers) -> str:
    return f"{each['seeds']} {'seed' if each['seeds'] == 1 else 'seeds'}"


def _counted(names: list[str]) -> str:
    """Return each name with the seeds in which it leads, the most frequent first."""
    first, *others = Counter(names).most_common()
    seeds = f"{first[0]} in {first[1]} {'seed' if first[1] == 1 else 'seeds'}"
    return ", ".join([seeds, *(f"{name} in {count}" for name, count in others)])


def _signed(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"


_NETWORKS = {
    "AlexNet": ("layer 4 (fc1)", "layer 4; accuracy 99%", ("fc1",)),
    "VGG11Net": ("layer 9 or 10 (fc1 or fc2)", "layer 9 or 10; 99%", ("fc1", "fc2")),
    "FCNet": ("layer 1 (fc1)", "layer 1; 94%", ("fc1",)),
}
ROWS = [
    *(
        Row(
            "figure 1",
            f"LFW, {name}: {title} leaks most",
            paper,
            "m21",
            leading(f"lfw {name}"),
            leads(f"lfw {name}", layers),
            f"lfw-{name}",
        )
        for name, (title, paper, layers) in _NETWORKS.items()
    ),
    *(
        Row(
            "figure 1",
            f"LFW, {name}: V-information is highest there too",
            "in words",
            "m21",
            informed(f"lfw {name}"),
            (
                Criterion(
                    f"usable information of {' or '.join(layers)} minus the largest other, forest, in sample,",
                    lambda n, name=name, layers=layers: ahead(
                        of(n, f"lfw {name}", _INFORMED), of(n, f"lfw {name}", "layers"), layers
                    ),
                    above=0.0,
                ),
            ),
            f"lfw-{name}",
        )
        for name, (_, _, layers) in _NETWORKS.items()
    ),
    *(
        Row(
            where,
            f"LFW, {name}, main task gender: sensitivity is highest in the first fully connected layer",
            "in words",
            "m21",
            sensitive(f"lfw {name}"),
            most_sensitive(f"lfw {name}"),
            f"lfw-{name}",
        )
        for name, where in (("AlexNet", "figures 1, 3"), ("VGG11Net", "figures 1, 3"), ("FCNet", "figure 1"))
    ),
    Row(
        "figure 1",
        "V-information, sensitivity and AUC have similar patterns over layers (AlexNet, LFW)",
        "in words",
        "m21",
        going_with("lfw AlexNet"),
        similar("lfw AlexNet"),
        "lfw-AlexNet",
    ),
    *(
        Row(
            "elsewhere",
            statement,
            "not in the paper",
            "m21",
            leading(f"{data} {name}"),
            leads(f"{data} {name}", ("fc1",)),
            data,
        )
        for data, name, statement in (
            ("mnist", "AlexNet", "MNIST (parity; stroke), AlexNet: fc1 leaks most"),
            ("cifar", "AlexNet", "CIFAR-10 (plane, car; brightness), AlexNet: fc1 leaks most"),
            ("adult", "FCNet", "Adult (income; sex), FCNet: layer 1 leaks most"),
        )
    ),
    Row("figure 1", "CelebA and PubFig", "accuracy 87, 82, 84%; 97, 98, 92%", "", None, missing="CelebA and PubFig"),
    Row(
        "figure 2",
        "VGG11Net, main task glasses: layer 9 leaks age, gender and hair most; R of V-information falls on another "
        "property, R of sensitivity rises",
        "in words",
        "",
        None,
        missing="LFW's attributes and color",
    ),
    Row(
        "figure 3",
        "other main tasks than gender: sensitivity is highest in the first fully connected layer; gender is lower than "
        "others there, and higher in the next",
        "in words",
        "",
        None,
        missing="LFW's attributes and color",
    ),
]
