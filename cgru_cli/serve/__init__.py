"""`cgru serve`: models behind a URL, for people, programs and clients of old servers.

`job` is the command. Computation: `engine` is the one thread that computes, `work` states what it
computes, `fair_queue` decides whose line is next, `shared_search` and `shared_scoring` batch the
lines of all clients, and `served_model` is a model with its search and its scorer. Protocols: all
use `service`, which stands between them and the engine. `rest` is our own, `nematus_rest` that
of Nematus' server and `libre_translate` that of LibreTranslate; `documents` translates files in the
background, and `paragraphs` texts of several sentences; `messages` defines their requests and
answers as types, and `openapi` describes them. `marian_websocket` is the protocol of Marian's
server, `page` is for people. Around them: `admission` lets requests in, `metrics` counts them,
`app` assembles the parts, `server` listens.
"""
