"""A web server with probes: a span around each request, its log records, its function calls.

    python3 server.py 8000
    curl localhost:8000/; curl localhost:8000/missing

    sudo nopal -e 'usdt::web:request__entry { printf("%s %s\\n", str(arg0), str(arg1)) }' -p PID
    sudo nopal -e 'usdt::web:request__return { @us = hist(arg0 / 1000) }' -p PID
    sudo nopal -e 'usdt::web:record /arg0 >= 40/ { printf("%s\\n", str(arg1)) }' -p PID
    sudo nopal -e 'usdt::web:function__entry { @[str(arg1)] = count() }' -p PID
"""
import http.server
import logging
import os
import sys

import nopal

web = nopal.Provider("web")
request = web.span("request", method=str, path=str)
records = nopal.LogHandler(web)
calls = nopal.Calls(web, only=lambda code: code.co_filename == __file__)
web.load()

log = logging.getLogger("web")
log.setLevel(logging.INFO)
log.addHandler(records)
log.propagate = False


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with request(self.command, self.path):
            self.answer(*self.find(self.path))

    def find(self, path):
        if path == "/":
            return 200, b"hello\n"
        log.error("no page %s", path)
        return 404, b"nothing here\n"

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, text, *values):
        log.info(text, *values)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"pid {os.getpid()}, port {server.server_port}", flush=True)
    with calls:
        server.serve_forever()
