"""The HTTP service: models by name behind one core, and thin adapters for the protocols that clients already use.

settings.py      limits, tokens, defaults
core.py          Service: models by name; predict, explain, find labels, reload
served.py        ServedModel: one model, its labels, its batches
batching.py      Batcher: requests that wait are answered together
errors.py        errors with a status, in the shape that each protocol expects
gate.py          what holds for every request: body limit, token, concurrency limit, headers, log line
api_v1.py        our own API            annif.py, huggingface.py, label_studio.py   other people's
app.py           all of it as one FastAPI application
server.py        uvicorn with a graceful stop, SIGHUP and --watch
"""
