"""Messages to the page: each write to the device is one message."""

import io
import json
import os

_device = os.open("/dev/page", os.O_WRONLY)


def send(kind, **values):
    """Send a message with these values to the page."""
    os.write(_device, json.dumps({"kind": kind, **values}).encode())


class Stream(io.TextIOBase):
    """Standard output or error of the cells; each complete line is sent."""

    encoding = "utf-8"

    def __init__(self, name):
        self.name = name
        self._pending = ""

    def writable(self):
        return True

    def write(self, text):
        self._pending += text
        if "\n" in text:
            self.flush()
        return len(text)

    def flush(self):
        if self._pending:
            send("output", stream=self.name, text=self._pending)
            self._pending = ""
