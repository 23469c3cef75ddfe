"""A real browser for tests: Chromium, told what to do over a pipe of its own (the DevTools protocol)."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: Puts two ends of pipes where Chromium expects them, as files 3 and 4.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A window of Chromium without a screen; ``trouble`` is what it complained about, ``asked`` what it fetched."""

    def __init__(self, width=1280, height=800):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *("--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}"),
            *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
            "--disable-features=IsolateSandboxedIframes",  # so that a frame can be asked as its page can
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs), str(theirs_out), *command],
            pass_fds=(theirs, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        os.close(theirs_out)
        self._number, self._read, self._session = 0, b"", None
        self.trouble, self.asked, self._loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self):
        while b"\0" not in self._read:
            more = os.read(self._in, 1 << 16)
            if not more:
                raise RuntimeError("Chromium has gone")
            self._read += more
        text, self._read = self._read.split(b"\0", 1)
        message = json.loads(text)
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.trouble.append(params["exceptionDetails"]["exception"].get("description", "?"))
        elif method == "Log.entryAdded":
            self.trouble.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.trouble.append(f"a dialog: {params['message']}")
        return message

    def open(self, path):
        self.trouble, self.asked, self._loaded = [], [], False
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        while not self._loaded:
            self._next()

    def run(self, script):
        """Return the value of an expression in the page, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def click(self, selector, text=None):
        """Click where an element is seen: the first that the selector finds, with these words if some are given."""
        where = self.run(f"""(() => {{
            const words = {json.dumps(text)};
            const found = [...document.querySelectorAll({json.dumps(selector)})].find(
                (each) => each.getClientRects().length && (words === null || each.textContent.includes(words)));
            if (!found) return null;
            found.scrollIntoView({{block: "center", inline: "center"}});
            const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        assert where, (selector, text)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)
        self.run("new Promise((done) => setTimeout(done))")  # what the page does after a click is done

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key):
        codes = {
            "Enter": 13,
            "Escape": 27,
            "ArrowDown": 40,
            "ArrowRight": 39,
            "ArrowLeft": 37,
            "Backspace": 8,
            "/": 191,
        }
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        code = codes[key]
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def words(self, selector):
        """Return the text of an element as it is seen."""
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def scheme(self, value):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def screenshot(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        """Let Chromium go: it ends when its pipe does."""
        self._session = None
        with contextlib.suppress(RuntimeError, OSError):
            self.call("Browser.close")
        for end in (self._in, self._out):
            os.close(end)
        self._process.wait(timeout=60)
        self._profile.cleanup()
