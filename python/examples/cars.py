"""Used cars from a German export: decimal commas, dates with days first, a row that is broken.

What a buyer asks: cheap and not far driven, near a budget, at most one of each make, and why one car is before another.
"""

import os
import random
import tempfile

import culmen

MAKES = {"Golf": "VW", "Polo": "VW", "Astra": "Opel", "Corsa": "Opel", "Civic": "Honda", "Jazz": "Honda"}


def german(number: int) -> str:
    return f"{number:,}".replace(",", ".")


def write_export(path: str, rows: int = 5_000) -> None:
    rng = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        print("nr;modell;marke;preis;km;zugelassen;automatik", file=file)
        for number in range(rows):
            model = rng.choice(list(MAKES))
            km = rng.randrange(1_000, 250_000)
            price = f"{german(max(900, 24_000 - km // 12 + rng.randrange(-2_000, 2_000)))},{rng.randrange(100):02}"
            day = f"{rng.randrange(1, 29):02}.{rng.randrange(1, 13):02}.{rng.randrange(2008, 2026)}"
            kept = "-" if rng.random() < 0.05 else german(km)
            print(number, model, MAKES[model], f"{price} €", kept, day, rng.choice(["ja", "nein"]), sep=";", file=file)
        print("5000;Golf;VW;auf Anfrage;10.000;01.01.2024;ja", file=file)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "autos.csv")
        write_export(path)
        rejects: list[culmen.RejectedRow] = []
        cars = culmen.Index.from_files(
            path,
            ["preis:low", "km:low"],
            id="nr",
            label="modell",
            dialect=culmen.CsvDialect(decimal=","),  # of whole numbers such as 15.990 nothing tells
            rejects=rejects,
        )
    print(f"{len(cars)} cars; left out: line {rejects[0].line}, {rejects[0].problem}")

    print("\ncheap and hardly driven, one of each make, registered since 2020:")
    wish = {"preis": -1, "km": -0.05}
    best = cars.search(wish, k=3, per={"marke": 1}, where="zugelassen >= '2020-01-01'")
    for car in best:
        print(f"  {car.label:6} {car['preis']:>9,.2f} €  {car['km']:>7,.0f} km  since {car['zugelassen']}")
    assert len({car["marke"] for car in best}) == 3

    print("\nnear a budget of 12,000 €, automatic counts as much as 500 €:")
    for car in cars.search({"km": -0.01}, k=3, terms="near(preis, 12000) + 500 * [automatik = 'ja']"):
        print(f"  {car.label:6} {car['preis']:>9,.2f} €  {car['km']:>7,.0f} km  automatic: {car['automatik']}")

    first, second = best[0].id, best[1].id
    print(f"\nwhy is {best[0].label} before {best[1].label}?")
    print(cars.why(wish, first, second))


if __name__ == "__main__":
    main()
