"""
Serve metrics over HTTP: each request has the scores of one query's documents and receives its metrics.

`fn.warmup()` builds machine code before the first request, unless it is there. Each query has its own `Evaluator`,
which any number of threads may use at the same time.

Run: python examples/service.py, then
    curl -d '{"query": "q1", "scores": [0.2, 0.9, 0.4]}' http://127.0.0.1:8000
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import fastndcg as fn

METRICS = "ndcg@10, rr"


class Judge:
    """The labels of all queries, prepared for requests."""

    def __init__(self, labels):
        """Prepare {query: labels of its documents}."""
        fn.warmup()
        self._evaluators = {query: fn.Evaluator([judged], METRICS) for query, judged in labels.items()}

    def answer(self, request):
        """Return the status and the answer to a request {"query": …, "scores": […]}."""
        try:
            evaluator = self._evaluators[request["query"]]
            result = evaluator.evaluate(np.asarray([request["scores"]], "f8"))
        except KeyError as error:
            return 404, {"error": f"unknown query or missing field: {error}"}
        except fn.FastndcgError as error:
            return 400, {"error": str(error)}
        values = dict(zip(map(str, result.metrics), result.values[0].tolist(), strict=True))
        return 200, values


class Handler(BaseHTTPRequestHandler):
    """The handler of one request."""

    error_content_type = "application/json"  # also for other methods than POST, which the base class answers
    error_message_format = '{"error": "%(explain)s"}'

    def do_POST(self):
        """Read and answer the request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, values = self.server.judge.answer(json.loads(body))
        answer = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Write no log line."""


def serve(labels, port=0):
    """Create a server for {query: labels} that answers each request on a separate thread."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.judge = Judge(labels)
    return server


def main():
    """Serve until Ctrl-C."""
    server = serve({"q1": [2, 0, 1], "q2": [0, 1, 0, 0]}, int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
