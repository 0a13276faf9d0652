# tests/pages/chromium.py - a headless chromium over the pipe of the DevTools protocol, without further libraries.
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile


class Chromium:
    """`with Chromium() as browser:` a page that is driven by real mouse and key events. `problems` are exceptions, console
    messages and failed loads of all pages so far."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            sys.exit("pages: no chromium to look at pages with. HINT: apt-get install chromium")
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_out, self.commands = os.pipe()
        self.events, event_in = os.pipe()
        arguments = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}",
                     "--window-size=1600,1000", "about:blank"]
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{command_out} 4>&{event_in}', "sh", *arguments],
                                        pass_fds=(command_out, event_in), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_out)
        os.close(event_in)
        self.number, self.buffer, self.session, self.problems, self.fired = 0, b"", None, [], []
        target = next(each for each in self.send("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        self.resize()

    def resize(self, width=1600, height=1000):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.send("Browser.close")
        except (OSError, AssertionError):
            self.process.terminate()
        self.process.wait(60)
        self.folder.cleanup()

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.events, 1 << 16)
            assert piece, "chromium ended"
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(values["exceptionDetails"].get("exception", {}).get("description", str(values)))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append("console: " + str(values["args"]))
        elif method == "Log.entryAdded":
            self.problems.append(values["entry"]["text"])
        elif method == "Network.requestWillBeSent" and values["request"]["url"].split(":")[0] not in ("file", "about", "data"):
            self.problems.append("loads " + values["request"]["url"])
        if method:
            self.fired.append(method)
        return message

    def send(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self.receive()
            if reply.get("id") == message["id"]:
                assert "error" not in reply, f"{method}: {reply['error']}"
                return reply["result"]

    def open(self, path):
        self.fired.clear()
        self.send("Page.navigate", url="file://" + path)
        while "Page.loadEventFired" not in self.fired:
            self.receive()

    def value(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        reply = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, f"{expression}: {reply['exceptionDetails']}"
        return reply["result"].get("value")

    def mouse(self, kind, x, y):
        pressed = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def key(self, name):
        text = {"text": name} if len(name) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, **text)

    def media(self, media="", scheme="light"):
        self.send("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True, landscape=True)["data"])
