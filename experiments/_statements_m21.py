"""What M21 states, and what we found."""

from collections import Counter
from collections.abc import Callable

from experiments._statement import Found, Numbers, Row, confirmed, of

TITLE = "M21: Mo, Borovykh et al. (2021)"


def leading(key: str) -> Callable[[Numbers], Found]:
    """Say which layer the attack reads best."""

    def found(numbers: Numbers) -> Found:
        each = of(numbers, key)
        cells = [
            f"{title}: "
            + ", ".join(
                f"{layer} {mean:.2f}" for layer, mean in zip(each["layers"], each["auc"][kind]["mean"], strict=True)
            )
            + f" (led by {_counted(each['auc'][kind]['leads'])})"
            for kind, title in (("maxima", "AUC"), ("entries", "raw entries"), ("sketch", "signed sketch"))
        ]
        leads = {kind: each["auc"][kind]["leads_as_printed"] > each["seeds"] / 2 for kind in ("maxima", "entries")}
        text = (
            f"{each['seeds']} {'seed' if each['seeds'] == 1 else 'seeds'}, {each['rounds']:,} rounds, test accuracy "
            f"{each['test_accuracy']['mean']:.1%} (majority {each['majority']:.1%}); {'; '.join(cells)}"
        )
        if each["seeds"] < 3:
            return text, "not run to the end: too few seeds to say"
        if not any(_above_chance(each["auc"][kind]) for kind in leads):
            return text, "not confirmed: no layer gives the property away, every attack is at chance"
        leads = {kind: leads[kind] and _above_chance(each["auc"][kind]) for kind in leads}
        if leads["entries"] and not leads["maxima"]:
            return text, "confirmed with a correction: by raw entries; not by the features of Melis et al."
        return confirmed(text, leads["maxima"])

    return found


def going_with(key: str) -> Callable[[Numbers], Found]:
    """Say how the two measures go with the attack over layers."""

    def found(numbers: Numbers) -> Found:
        each = of(numbers, key)
        correlations = each["correlation_with_auc"]
        names = {
            "information: forest, held out": "forest held out",
            "information: logistic, held out": "logistic held out",
            "information: forest, in sample": "forest in sample",
            "information: logistic, in sample": "logistic in sample",
            "sensitivity: label, fro": "sensitivity to the label",
            "sensitivity: output, fro": "to the output",
            "sensitivity: label, fro, neurons": "to the label, psi by neurons",
        }
        cells = [
            f"{title} {_signed(correlations[name]['mean'])}"
            + (f" ± {correlations[name]['half_width']:.2f}" if each["seeds"] > 2 else "")
            for name, title in names.items()
        ]
        text = f"correlation with the AUC over layers, {each['seeds']} seed(s): {', '.join(cells)}"
        if each["seeds"] < 3:
            return text, "not run to the end: too few seeds to say"
        sure = {
            title: correlations[name]["mean"] - correlations[name]["half_width"] > 0 for name, title in names.items()
        }
        informed = any(sure[title] for title in sure if title.startswith(("forest", "logistic")))
        printed, neurons = sure["sensitivity to the label"], sure["to the label, psi by neurons"]
        if not informed:
            return text, "not confirmed"
        if printed:
            return text, "confirmed"
        how = "only with psi counted by neurons" if neurons else "in no reading"
        return text, f"confirmed with a correction: usable information does; sensitivity {how}"

    return found


def _above_chance(auc: Numbers) -> bool:
    """Return whether some layer surely gives the property away: its interval over seeds is above one half."""
    return any(mean - half > 0.5 for mean, half in zip(auc["mean"], auc["half_width"], strict=True))


def _counted(names: list[str]) -> str:
    """Return each name with how often it is there, the most frequent first."""
    return ", ".join(f"{name} {count}x" for name, count in Counter(names).most_common())


def _signed(value: float) -> str:
    return "not defined" if value != value else f"{value:.2f}"


ROWS = [
    Row(
        "figure 1",
        "LFW, AlexNet: layer 4 (fc1) leaks most",
        "layer 4; accuracy 99%",
        "m21",
        leading("lfw AlexNet"),
        "lfw-AlexNet",
    ),
    Row(
        "figure 1",
        "LFW, VGG11Net: layer 9 or 10 (fc1 or fc2)",
        "layer 9 or 10; 99%",
        "m21",
        leading("lfw VGG11Net"),
        "lfw-VGG11Net",
    ),
    Row("figure 1", "LFW, FCNet: layer 1", "layer 1; 94%", "m21", leading("lfw FCNet"), "lfw-FCNet"),
    Row(
        "figure 1",
        "V-information, sensitivity and AUC have similar patterns over layers (AlexNet, LFW)",
        "in words",
        "m21",
        going_with("lfw AlexNet"),
        "lfw-AlexNet",
    ),
    Row(
        "elsewhere",
        "MNIST (parity; stroke), AlexNet: fc1 leaks most",
        "not in the paper",
        "m21",
        leading("mnist AlexNet"),
        "mnist",
    ),
    Row(
        "elsewhere",
        "CIFAR-10 (plane, car; brightness), AlexNet: fc1 leaks most",
        "not in the paper",
        "m21",
        leading("cifar AlexNet"),
        "cifar",
    ),
    Row(
        "elsewhere",
        "Adult (income; sex), FCNet: layer 1 leaks most",
        "not in the paper",
        "m21",
        leading("adult FCNet"),
        "adult",
    ),
    Row(
        "figure 1",
        "CelebA and PubFig",
        "accuracy 87, 82, 84%; 97, 98, 92%",
        "",
        None,
        missing="CelebA and PubFig",
    ),
    Row(
        "figures 2, 3",
        "other properties and main tasks of LFW",
        "in words",
        "",
        None,
        missing="LFW's attributes of age, glasses and hair, and color",
    ),
]
