"""Python's side of the page: runs cells, shows objects and carries the models of widgets.

The worker calls `receive` with a message of the page; answers go to the page by `channel.send`.
"""

import json
import os

from byoc_lab_lite import cells, models, playground

os.chdir(os.environ["HOME"])


def receive(text):
    """Do what a message of the page asks for: {do: "run", "look", "complete" or "model", ...}."""
    message = json.loads(text)
    _ACTIONS[message.pop("do")](**message)


_ACTIONS = {
    "run": cells.run,
    "look": playground.look,
    "complete": cells.complete,
    "model": models.receive,
}
