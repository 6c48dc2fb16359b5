"""`cgru serve`: models behind a URL, for people, programs and clients of older servers.

`job` is the command. Computation: `engine` has the threads that compute, `work` defines its
requests and lines, `fair_queue` chooses the next line, `shared_search` and `shared_scoring` batch
the lines of all clients, and `served_model` is a model with its search and its scorer. Protocols:
all reach the engine through `service`. `rest` is cgru's own protocol, `nematus_rest` that of
Nematus' server, `libre_translate` that of LibreTranslate and `marian_websocket` that of Marian's
server. `documents` translates files in the background, and `paragraphs` translates texts of several
sentences. `detection` finds the language of a text. `messages` defines the types of requests and
answers, `problems` defines errors, and `openapi` describes both. `page` serves the web page.
Requests: `admission` accepts or refuses them, `clients` identifies their senders, `bodies` reads
them, and `metrics` counts them. `app` assembles the parts, `server` listens.
"""
