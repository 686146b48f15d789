"""What people write without `culmen serve`: FastAPI over the Python package, to compare with by bench/serve_load.py.

    pip install fastapi uvicorn[standard]
    CULMEN_INDEX=hotels.index uvicorn --app-dir bench serve_fastapi:app --port 8081 --log-level warning
    CULMEN_INDEX=hotels.index uvicorn --app-dir bench serve_fastapi:asgi --port 8082 --log-level warning

The second is culmen.asgi, with uvicorn as well.
"""

import os

import fastapi
import pydantic

import culmen
import culmen.asgi

index = culmen.Index.open(os.environ["CULMEN_INDEX"])
names = index.attributes
app = fastapi.FastAPI()
asgi = culmen.asgi.app(index)


class Question(pydantic.BaseModel):
    weights: dict[str, float]
    k: int = 10
    where: str | None = None


@app.post("/search")
def search(question: Question):
    rows = index.search(question.weights, question.k, where=question.where)
    results = [
        {
            "rank": rank,
            "id": row.id,
            "score": row.score,
            "label": row.label,
            "attributes": {name: row[name] for name in names},
        }
        for rank, row in enumerate(rows, 1)
    ]
    return {"queries": [{"results": results}]}
