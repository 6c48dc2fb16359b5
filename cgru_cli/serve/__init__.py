"""`cgru serve`: models behind a URL, for people, programs and old clients.

`job` is the command. Computation: `engine` is the one thread that computes, `work` what it is
given, `fair_queue` who is next, `shared_search` how lines of all clients join one search, and
`served_model` a model with its search and its scorer. Protocols: `service` stands between them and
the engine, whose outcomes `hand_over` brings; `rest` is our own and `nematus_rest` that of Nematus'
server, with `messages` as the types of their JSON and `openapi` its description; `marian_websocket`
is that of Marian's server, `page` is for people. Around them: `gate` lets requests in, `metrics`
counts them, `app` puts all together, `server` listens.
"""
