"""The playground of the page: shows each part of byoc_lab's results for the input."""

import traceback

from byoc_lab_lite.cells import running
from byoc_lab_lite.channel import send
from byoc_lab_lite.displays import display


def look(cell, given):
    """Show all results for the input, each under its heading."""
    with running(cell):
        from byoc_lab_playground import parts

        for heading, shown in parts(**given):
            send("output", heading=heading)
            if isinstance(shown, Exception):
                said = "".join(traceback.format_exception_only(shown))
                send("output", stream="stderr", text=said)
            else:
                display(shown)
