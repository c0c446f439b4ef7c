"""check the installation"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from byoc_lab.commands.shared import NO, OK, configure_format, configure_import
from byoc_lab.output import to_json


def configure(parser: argparse.ArgumentParser) -> None:
    configure_import(parser)
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    from byoc_lab.doctor import examine

    as_json = options.format == "json"
    checks = []
    for check in examine():
        checks.append(check)
        if not as_json:
            print(check)
    complete = not any(check.missing for check in checks)
    if as_json:
        data = [asdict(check) for check in checks]
        print(to_json("installation", {"complete": complete, "checks": data}))
    return OK if complete else NO
