"""A web application of your own around a translator.

pip install fastapi uvicorn
uvicorn --app-dir examples/python fastapi_app:app
curl localhost:8000/translate -H 'Content-Type: application/json' -d '{"text": "Good morning!"}'

FastAPI calls `translate` in a thread of its own for each request, and threads may share a
translator. `cgru serve` also puts lines of several clients into one batch.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from cgru_cli import CgruError, Translator

MODEL = Path(__file__).parents[1] / "en-de.npz"
app = FastAPI()
translator = Translator(MODEL, attention=False)


class Request(BaseModel):
    """A text to translate, of one or several sentences; requires the extra `sentences`."""

    text: str
    beam_size: int | None = None


class Reply(BaseModel):
    """Its translation, with the log-probability in nats."""

    text: str
    score: float


@app.post("/translate")
def translate(request: Request) -> Reply:
    """Translate a text sentence by sentence; bad input is answered with 400 and its message."""
    try:
        best = translator.translate(
            request.text, split_sentences="auto", beam_size=request.beam_size
        )
    except CgruError as error:
        raise HTTPException(400, str(error)) from None
    return Reply(text=best.text, score=best.score)
