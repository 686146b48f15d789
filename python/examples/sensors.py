"""A window over a stream of measurements: the newest hour is kept, and the strangest of it are asked for.

Each batch inserts a minute's rows and erases those that have become old, so every search sees an hour.
"""

import numpy as np

import culmen

MINUTE, HOUR = 60, 3_600


def measure(minute: int, rng: np.random.Generator, rows: int = 200) -> dict:
    heat = rng.normal(20, 2, rows)
    heat[rng.random(rows) < 0.002] += 30  # something burns
    return {
        "heat": np.round(heat, 2),
        "shake": np.round(rng.exponential(1, rows), 3),
        "second": minute * MINUTE + rng.integers(0, MINUTE, rows),
        "site": rng.choice(["north", "south", "harbour"], rows).tolist(),
    }


def main() -> None:
    rng = np.random.default_rng(4)
    window = culmen.Index.create(["heat", "shake", "second"], fields={"site": "text"})
    for minute in range(90):
        window.insert(measure(minute, rng), expire=f"second < {(minute + 1) * MINUTE - HOUR}")
    print(f"{len(window)} rows of the last hour, version {window.version}")
    oldest = window.search({"second": -1}, k=1)[0]["second"]
    assert oldest >= 90 * MINUTE - HOUR

    now = 90 * MINUTE
    print("strange and recent, at most two a site:")
    recent = window.search({"heat": 1, "shake": 2}, k=6, per={"site": 2}, terms=f"10 * decay(second, {now}, 600)")
    for row in recent:
        print(
            f"  {row['site']:8} {row['heat']:6.2f} degrees, shake {row['shake']:.3f}, {now - row['second']:.0f} s ago"
        )
    alarms = window.count_above({"heat": 1}, 40)
    print(f"{alarms} measurements above 40 degrees")
    assert alarms == int((window.to_dict()["heat"] > 40).sum())


if __name__ == "__main__":
    main()
