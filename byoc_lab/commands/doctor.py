"""check the installation"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import NO, OK


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no arguments."""


def run(options: argparse.Namespace) -> int:
    from byoc_lab.doctor import examine

    complete = True
    for check in examine():
        print(check)
        complete = complete and not check.missing
    return OK if complete else NO
