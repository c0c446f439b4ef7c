"""prepare a class: notebooks of exercises, variants, instructor's copies"""

from __future__ import annotations

import argparse
from pathlib import Path

from byoc_lab.commands.shared import OK, configure_format
from byoc_lab.output import to_json


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="action")
    new = actions.add_parser("new", help="write a course into a new folder")
    new.add_argument(
        "folder", type=Path, help="a new folder, or the folder of an incomplete course"
    )
    new.add_argument("--exercises", help="names, separated by commas (default: all)")
    new.add_argument(
        "--students",
        type=Path,
        help="a file with one student's name per line; each student gets a variant",
    )
    new.add_argument("--seed", type=int, help="the seed of the class (default: random)")
    new.add_argument(
        "--name", default="", help="the name of the course (default: the folder's name)"
    )
    new.set_defaults(action="new")
    listing = actions.add_parser("list", help="list the exercises")
    listing.set_defaults(action="list")
    pictures = actions.add_parser("pictures", help="write the exercises' graphs as SVG for slides")
    pictures.add_argument("folder", type=Path)
    pictures.add_argument("--exercises", help="names, separated by commas (default: all)")
    pictures.set_defaults(action="pictures")
    for action in (new, listing, pictures):
        configure_format(action)


def run(options: argparse.Namespace) -> int:
    from byoc_lab.lessons.exercises import all_exercises

    as_json = options.format == "json"
    if options.action == "list":
        found = all_exercises()
        if as_json:
            data = [{"name": e.name, "minutes": e.minutes, "title": e.title} for e in found]
            print(to_json("exercises", {"exercises": data}))
        else:
            for e in found:
                print(f"{e.name:28} {e.minutes:3} min  {e.title}")
        return OK
    names = [name.strip() for name in (options.exercises or "").split(",") if name.strip()]
    if options.action == "pictures":
        from byoc_lab.lessons.pictures import write_pictures

        paths = [str(path) for path in write_pictures(options.folder, names)]
        print(to_json("pictures", {"files": paths}) if as_json else "\n".join(paths))
        return OK
    from byoc_lab.lessons.grading.course import new_course
    from byoc_lab.lessons.grading.handed_in import decoded

    students = []
    if options.students is not None:
        lines = decoded(options.students.read_bytes()).splitlines()
        students = [line.strip() for line in lines if line.strip()]
    course = new_course(options.folder, names, students, options.seed, options.name)
    if as_json:
        lists = {"exercises": list(course.exercises), "students": list(course.students)}
        print(to_json("course", {"folder": str(options.folder), **lists}))
        return OK
    print(
        f"{options.folder}: {len(course.exercises)} exercises for {len(students) or 'all'} "
        f"students; hand out students/, keep the rest"
    )
    return OK
