"""An HTTP endpoint over an index in a directory.

    HOTELS=hotels.index uvicorn endpoint:app
    curl 'localhost:8000/best?price=-0.4&rating=12&k=3&where=price<=200'

Needs fastapi and uvicorn.
"""

import os

from fastapi import FastAPI, HTTPException, Request

import culmen

index = culmen.Index.open(os.environ.get("HOTELS", "hotels.index"))
app = FastAPI()


@app.get("/best")
def best(request: Request, k: int = 10, where: str = "") -> list[dict]:
    """Weights are the parameters that are called like attributes."""
    index.refresh()
    given = request.query_params
    try:
        weights = {name: float(given[name]) for name in index.attributes if name in given}
        result = index.search(weights, k, where=where or None)
    except ValueError as error:  # culmen's are of this kind, too
        raise HTTPException(status_code=422, detail=str(error)) from None
    return [{"id": row.id, "score": row.score, "label": row.label, **row.attributes} for row in result]
