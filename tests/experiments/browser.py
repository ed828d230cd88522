"""A headless browser, driven over the two pipes of its debugging protocol: no library in between."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One tab: commands, real mouse events, and everything the page complained of."""

    def __init__(self, profile: Path):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def place():  # the browser expects commands at 3 and answers at 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        flags = "headless=new no-sandbox disable-gpu disable-dev-shm-usage no-first-run disable-background-networking "
        flags += "disable-component-update remote-debugging-pipe window-size=1100,1500"
        self._process = subprocess.Popen(
            [chromium(), *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._id, self._session = b"", 0, None
        self.complaints, self.requests, self.loaded = [], [], 0
        target = next(t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method, **params):
        self._id += 1
        order = {"id": self._id, "method": method, "params": params}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._write, json.dumps(order).encode() + b"\0")
        while True:
            message = self._message(30)
            if message.get("id") == self._id:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._heard(message)

    def _message(self, seconds):
        until = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self._buffer += more
        one, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(one)

    def _heard(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"])
        elif (method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")) or (
            method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning")
        ):
            self.complaints.append(params)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded += 1

    def open(self, address):
        before = self.loaded
        self("Page.navigate", url=address)
        while self.loaded == before:
            self._heard(self._message(30))

    def offline(self):
        self("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def value(self, expression):
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def middle(self, selector):
        """The middle of an element, scrolled into sight."""
        return self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )

    def mouse(self, kind, x, y, **params):
        self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", **params)

    def click(self, selector, times=1):
        x, y = self.middle(selector)
        for count in range(1, times + 1):
            self.mouse("mousePressed", x, y, clickCount=count, buttons=1)
            self.mouse("mouseReleased", x, y, clickCount=count)

    def drag(self, start, end):
        self.mouse("mousePressed", *start, clickCount=1, buttons=1)
        for share in (0.3, 0.7, 1.0):
            self.mouse("mouseMoved", *(a + share * (b - a) for a, b in zip(start, end, strict=True)), buttons=1)
        self.mouse("mouseReleased", *end, clickCount=1)

    def choose(self, selector, value):
        """An option of a select, and the event a user's choice brings: a list that opens is not part of the page."""
        self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            " e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def close(self):
        with contextlib.suppress(Exception):
            self("Browser.close")
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
