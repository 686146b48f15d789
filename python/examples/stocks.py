"""Shares with factors of both signs: a screen with a slider for each factor, and what moves as one slider moves.

Given the name of a picture, such as momentum.png, it draws that (with matplotlib).
"""

import sys

import numpy as np

import culmen

FACTORS = ["value", "momentum", "quality", "volatility:low", "debt:low"]


def table(rows: int = 8_000) -> dict:
    rng = np.random.default_rng(3)
    market = rng.standard_normal(rows)
    factors = {name.split(":")[0]: 0.6 * market + rng.standard_normal(rows) for name in FACTORS}
    factors["debt"][rng.random(rows) < 0.07] = np.nan  # banks report none
    return {
        "id": np.arange(rows),
        "ticker": [f"S{number:04}" for number in range(rows)],
        "sector": rng.choice(["energy", "banks", "retail", "chips"], rows).tolist(),
        **factors,
    }


def main() -> None:
    shares = culmen.Index.build(table(), FACTORS, id="id", label="ticker", missing={"debt": "median"})
    sliders = {"value": 1, "momentum": 0.5, "quality": 1, "volatility": -0.5, "debt": -0.25}

    best = shares.search(sliders, k=10, scale="minmax", missing="fill")
    print("best of all, scaled, gaps filled with the median:", " ".join(share.label for share in best))

    spread = shares.search(sliders, k=8, scale="minmax", missing="fill", per={"sector": 2})
    print("at most two a sector:", " ".join(f"{share.label} ({share['sector']})" for share in spread))

    rank = shares.rank_of(sliders, spread[-1].id, scale="minmax", missing="fill")
    print(f"the last of these is number {rank.rank} of all")

    print("as the weight of momentum moves:")
    steps = [-1.0, 0.0, 0.5, 1.0, 2.0]
    answers = shares.search([{**sliders, "momentum": step} for step in steps], k=10, scale="minmax", missing="fill")
    for step, ids in zip(steps, answers.ids, strict=True):
        print(f"  {step:4}: {len(set(ids.tolist()) & set(best.ids.tolist()))} of the ten are the same")
    assert set(answers.ids[2].tolist()) == set(best.ids.tolist())

    if len(sys.argv) > 1:
        axes = culmen.plot.sweep(shares, sliders, "momentum", k=10, scale="minmax", missing="fill")
        axes.figure.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
