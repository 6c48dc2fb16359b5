"""`cgru serve`: models behind a URL, for people, programs and clients of old servers.

`job` is the command. Computation: `engine` is the only thread that computes, `work` defines its
requests and lines, `fair_queue` chooses the next line, `shared_search` and `shared_scoring` batch
the lines of all clients, and `served_model` is a model with its search and its scorer. Protocols:
all reach the engine through `service`. `rest` is cgru's own protocol, `nematus_rest` that of
Nematus' server and `libre_translate` that of LibreTranslate; `documents` translates files in the
background, and `paragraphs` texts of several sentences; `messages` defines requests and answers as
types, and `openapi` describes them. `marian_websocket` is the protocol of Marian's server, `page`
serves a web page. `admission` accepts or refuses requests, `metrics` counts them, `app` assembles
the parts, `server` listens.
"""
