# tests/helpers/lsp_client.py - a client of the Language Server Protocol that acts as an editor for `tessera lsp`.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess


class Client:
    """Runs one `tessera lsp` process. Notifications that arrive before an answer are appended to `said`."""

    def __init__(self, program, *options, environment=None):
        self.process = subprocess.Popen([program, "lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)
        self.said = []
        self.asked = 0

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = None
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":")
            if name == b"Content-Length":
                length = int(value)
        if length is None:
            raise EOFError("the server has ended")
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, **params):
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while "id" not in (message := self.receive()):
            self.said.append(message)
        assert message["id"] == self.asked, message
        return message.get("result") if "error" not in message else message["error"]

    def tell(self, method, **params):
        self.send({"method": method, "params": params})

    def open(self, path, text):
        self.tell("textDocument/didOpen",
                  textDocument={"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text})

    def change(self, path, text):
        self.tell("textDocument/didChange", textDocument={"uri": path.as_uri(), "version": 2},
                  contentChanges=[{"text": text}])

    def diagnostics(self, path):
        """Returns the next diagnostics that the server publishes for the file. Notifications for other files are dropped."""
        while True:
            message = self.said.pop(0) if self.said else self.receive()
            if message["method"] == "textDocument/publishDiagnostics" and message["params"]["uri"] == path.as_uri():
                return message["params"]["diagnostics"]

    def at(self, method, path, text, mark, offset=0):
        """Sends the request `method` for the position `offset` characters after the start of the first `mark` in the text. Returns the
        result. Columns count UTF-16 units."""
        before = text[:text.index(mark) + offset]
        line = before.count("\n")
        character = len(before.rsplit("\n", 1)[-1].encode("utf-16-le")) // 2
        return self.ask("textDocument/" + method, textDocument={"uri": path.as_uri()},
                        position={"line": line, "character": character})

    def end(self):
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(30)
