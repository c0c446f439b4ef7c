"""The Python part of the page: runs cells, shows objects and transfers the models of widgets.

The worker calls `receive` with a message of the page; `channel.send` sends answers to the page.
"""

import json
import os

from byoc_lab_lite import cells, models, playground

os.chdir(os.environ["HOME"])


def receive(text):
    """Handle a message of the page: {do: "run", "look", "complete" or "model", ...}."""
    message = json.loads(text)
    _ACTIONS[message.pop("do")](**message)


_ACTIONS = {
    "run": cells.run,
    "look": playground.look,
    "complete": cells.complete,
    "model": models.receive,
}
