"""A shop's products from JSON Lines: popular and well reviewed, what is in stock, boosts, and the next page.

The stock changes while people search: an update touches one column of the rows.
"""

import json
import os
import random
import tempfile

import culmen

BRANDS = ["Sony", "LG", "Bose", "JBL", "Noname"]


def write_catalogue(path: str, rows: int = 5_000) -> None:
    rng = random.Random(2)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(rows):
            product = {
                "sku": number,
                "name": f"speaker {number}",
                "brand": rng.choice(BRANDS),
                "price": round(rng.lognormvariate(4, 0.8), 2),
                "rating": None if rng.random() < 0.1 else rng.randrange(2, 11) / 2,  # not rated yet
                "reviews": int(rng.paretovariate(0.8)),
                "stock": rng.randrange(0, 20),
                "added": f"2025-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            }
            print(json.dumps(product), file=file)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "products.jsonl")
        write_catalogue(path)
        shop = culmen.Index.from_files(path, ["price:low", "rating", "reviews", "stock"], id="sku", label="name")

    question = {"weights": {"rating": 1}, "terms": "0.3 * log1p(reviews) + 0.2 * [brand = 'Bose']"}
    where = "stock > 0 and price <= 100"

    def ask(**more):
        return shop.search(question["weights"], terms=question["terms"], where=where, **more)

    first = ask(k=5)
    print("popular and in stock:")
    for product in first:
        print(f"  {product.label:13} {product['brand']:6} {product['price']:7.2f}  {product['rating']} stars")
    second = ask(k=5, after=first.cursor)
    assert [*first.ids, *second.ids] == [*ask(k=10).ids]
    print("the next page begins with", second[0].label)

    seen = culmen.ids(first.ids)
    fresh = shop.search(
        {"rating": 1}, k=3, where=~seen & (culmen.col("stock") > 0) & (culmen.col("added") >= "2025-06-01")
    )
    print("not seen yet, added since June:", ", ".join(product.label for product in fresh))

    best = first[0].id
    shop.update({"sku": [best], "stock": [0]})
    assert shop.get(best)["price"] == first[0]["price"]
    assert best not in ask(k=5).ids
    print(f"{first[0].label} is sold out; now {ask(k=1)[0].label} is first")


if __name__ == "__main__":
    main()
