"""Three travellers rank the same hotels, and two pictures: how the answer moves as a weight moves, and how much of the
table a question reads. Needs pandas and matplotlib.

    python hotels.py [FOLDER FOR THE PICTURES]
"""

import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import culmen

TRAVELLERS = {
    "a student": {"price": -1.0, "rating": 4, "distance": -2},
    "a couple": {"price": -0.3, "rating": 20, "distance": -5},
    "on business": {"price": -0.05, "rating": 8, "distance": -30},
}


def make_hotels(count: int = 200_000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rating = np.round(rng.beta(6, 2, count) * 10, 1)
    distance = np.round(rng.gamma(2, 2, count), 1)
    price = np.round(20 + 12 * rating - 3 * distance + rng.gamma(2, 15, count))
    names = [f"Hotel {i}" for i in range(count)]
    return pd.DataFrame({"id": np.arange(count), "name": names, "price": price, "rating": rating, "distance": distance})


def draw_moves(index: culmen.Index, folder: pathlib.Path) -> None:
    """The price of the best hotels, as the weight of the rating grows."""
    weights = np.linspace(0, 30, 121)
    matrix = np.zeros((len(weights), 3))
    matrix[:, index.attributes.index("price")] = -0.5
    matrix[:, index.attributes.index("rating")] = weights
    matrix[:, index.attributes.index("distance")] = -2
    answers = index.search(matrix, 10).to_pandas()
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(weights[answers["query"]], answers["price"], ".", markersize=3)
    axes.set(xlabel="weight of the rating (price: -0.5, distance: -2)", ylabel="price of the ten best")
    figure.savefig(folder / "moves.png", dpi=120, bbox_inches="tight")


def draw_shares(index: culmen.Index, folder: pathlib.Path) -> None:
    ks = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000]
    figure, axes = plt.subplots(figsize=(7, 4))
    for traveller, weights in TRAVELLERS.items():
        shares = [100 * index.search(weights, k, engine="bounded").stats.share_scored for k in ks]
        axes.loglog(ks, shares, "o-", label=traveller)
    axes.set(xlabel="k", ylabel="rows whose score was computed, %")
    axes.legend()
    figure.savefig(folder / "shares.png", dpi=120, bbox_inches="tight")


def main() -> None:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    index = culmen.Index.build(make_hotels(), ["price:low", "rating", "distance:low"], id="id", label="name")
    print(index)
    for traveller, weights in TRAVELLERS.items():
        result = index.search(weights, k=5, where="rating>=6")
        stats = result.stats
        print(f"\n{traveller}: {stats.rows_scored} of {len(index)} hotels scored, {stats.elapsed_us:.0f} us")
        print(result.to_pandas().to_string(index=False))
    draw_moves(index, folder)
    draw_shares(index, folder)


if __name__ == "__main__":
    main()
