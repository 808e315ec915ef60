"""What the layers of an update give away, given the noise on each: what limits are about, and what may be told."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from seepage._tables import Array
from seepage.federated._policy import LayerPolicy
from seepage.federated._report import SUPPORT, WHOLE, PeopleSpread
from seepage.federated._signal import Signal


@dataclass(frozen=True, eq=False)
class Exposure:
    """What was measured, and the noise that each layer has on every sum of gradients."""

    signal: Signal
    sensitivity: Mapping[str, float]
    noise: Mapping[str, float]

    def dfil(self, layer: str) -> Array:
        """Return the dFIL of each person that was measured for it: for means over people."""
        return self._dfil(self.signal.information, layer)

    def _dfil(self, information: Array, layer: str) -> Array:
        values = np.sqrt(information[:, self._place(layer)])
        scale = self.noise[layer]
        # Without noise everybody is exposed without bound, whatever their derivative.
        return values / scale if scale > 0 else np.full_like(values, np.inf)

    def susceptibility(self, layer: str) -> Array:
        """Return the susceptibility of each person that was measured for it."""
        values = self.signal.susceptibility[:, self._place(layer)]
        scale = self.noise[layer]
        return values / scale**2 if scale > 0 else values

    def worst(self, layer: str) -> dict[str, float]:
        """Return what limits are about. It stays in the client."""
        return {
            "dfil": float(self._dfil(self.signal.upper, layer).max()),
            "susceptibility": float(self.susceptibility(layer).max()),
            "sensitivity": self.sensitivity[layer],
        }

    def whole(self, layers: Collection[str]) -> Array:
        """Return the dFIL of each person from these layers together: for means over people."""
        return self._whole(self.signal.information, layers)

    def worst_whole(self, layers: Collection[str]) -> float:
        """Return what limits on all these layers together are about. It stays in the client."""
        return float(self._whole(self.signal.upper, layers).max(initial=0.0))

    def _whole(self, information: Array, layers: Collection[str]) -> Array:
        squares = [self._dfil(information, layer) ** 2 for layer in layers]
        return np.sqrt(np.sum(squares, 0)) if squares else np.zeros(len(information))

    def noise_for(self, policy: LayerPolicy, layer: str) -> float:
        """Return the noise on gradients with which the layer meets its limits."""
        place = self._place(layer)
        by_dfil = np.sqrt(self.signal.upper[:, place].max()) / policy.limit("dfil", layer)
        by_slope = math.sqrt(self.signal.susceptibility[:, place].max() / policy.limit("susceptibility", layer))
        # A layer that moves with nobody needs none, but what has none is above every limit.
        return float(max(by_dfil, by_slope, self.noise[layer], np.finfo(np.float32).tiny))

    def rows(self, dropped: set[str], noised: set[str]) -> dict[str, dict[str, float]]:
        """Return for each layer, and for all that is sent, what may be reported."""
        found: dict[str, dict[str, float]] = {}
        enough = min(len(self.signal.information), len(self.signal.susceptibility)) >= SUPPORT
        for layer in self.signal.layers:
            dfil, slope = PeopleSpread.of(self.dfil(layer)), PeopleSpread.of(self.susceptibility(layer))
            found[layer] = {
                "sensitivity": self.sensitivity[layer] if enough else math.nan,
                "dfil": dfil.mean,
                "dfil_worst_ten": dfil.worst_ten,
                "susceptibility": slope.mean,
                "susceptibility_worst_ten": slope.worst_ten,
                # That a layer is dropped everybody sees; which one needed noise would tell of the most exposed person.
                "dropped": layer in dropped,
            }
        sent = [layer for layer in self.signal.layers if layer not in dropped]
        whole = PeopleSpread.of(self.whole(sent))
        found[WHOLE] = {
            "dfil": whole.mean,
            "dfil_worst_ten": whole.worst_ten,
            "dropped": len(sent) == 0,
            "noised": bool(noised),
        }
        return found

    def _place(self, layer: str) -> int:
        return self.signal.layers.index(layer)
