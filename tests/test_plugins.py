"""`byoc_lab.plugins`: imported files and modules, and back ends of installed packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from byoc_lab import backends, explain, explain_patterns, lint, plugins
from byoc_lab.doctor import examine
from byoc_lab.errors import UnknownNameError
from byoc_lab.passes import named_pipeline
from byoc_lab.plugins import PlugInError
from byoc_lab.relay import parse
from byoc_lab.run.backends import get_backend
from tests.cli import chip
from tests.cli.samples import CLEAN

CALLED = f"def register():\n{chip.CHIP}".replace("\n", "\n    ")


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restores modules, paths and back ends; the working directory is the test's."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    chip.forget()


def install(folder: Path, package: str, code: str, name: str = "mychip", call: str = "") -> None:
    """Installs a package as pip does, with an entry point."""
    (folder / f"{package}.py").write_text(code)
    facts = folder / f"{package}-1.5.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (facts / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {package}{call}\n")
    sys.path.insert(0, str(folder))


class TestImport:
    def test_file_registers_a_back_end_once(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "neighbour.py").write_text("COUNT = []\n")
        text = "import neighbour\nneighbour.COUNT.append(1)\n"
        (tmp_path / "sub" / "mychip_file.py").write_text(text + chip.CHIP)
        for _ in range(2):
            plugins.import_code("sub/mychip_file.py")
        assert "mychip" in backends.names()
        assert sys.modules["neighbour"].COUNT == [1]

    def test_plugin_module_of_the_working_directory_is_imported(self, tmp_path: Path) -> None:
        (tmp_path / "mychip_module.py").write_text(chip.CHIP)
        plugins.import_code("mychip_module")
        assert "mychip" in backends.names()

    @pytest.mark.parametrize(
        ("name", "code", "message"),
        [
            ("nowhere.py", None, "there is no such file"),
            ("nowhere", None, "no module is named 'nowhere' in the working directory"),
            ("", None, "cannot import : ValueError"),
            ("numpy.py", "", "a module is already named 'numpy' (.*numpy/__init__.py); rename"),
            ("broken.py", "\n1 / 0\n", "ZeroDivisionError: division by zero at broken.py:2"),
            ("broken", "\n1 / 0\n", "ZeroDivisionError: division by zero at broken.py:2"),
            ("wrong.py", "x = (\n", "SyntaxError: '(' was never closed (wrong.py, line 1)"),
            ("ends.py", "raise SystemExit(3)\n", "SystemExit: 3 at ends.py:1"),
            ("needs.py", "import nowhere_else\n", "No module named 'nowhere_else' at needs.py:1"),
            (
                "refused.py",
                "from byoc_lab import backends\nbackends.register('a.b')\n",
                "PassError: a back end's name must consist of ASCII letters, digits, '_' and '-', "
                "because it is part of the symbols of its regions, found 'a.b' at refused",
            ),
        ],
    )
    def test_error_in_an_imported_file_names_the_file_and_the_line(
        self, tmp_path: Path, name: str, code: str | None, message: str
    ) -> None:
        if code is not None:
            (tmp_path / name).with_suffix(".py").write_text(code)
        expected = message.replace("(", r"\(").replace(")", r"\)")
        with pytest.raises(PlugInError, match=expected):
            plugins.import_code(name)
        if code is not None and not name.startswith("numpy"):
            assert Path(name).stem not in sys.modules


class TestInstalled:
    @pytest.mark.parametrize(("code", "call"), [(chip.CHIP, ""), (CALLED, ":register")])
    def test_installed_back_end_is_loaded_at_its_first_use(
        self, tmp_path: Path, code: str, call: str
    ) -> None:
        install(tmp_path, "chip_package", code, call=call)
        assert (
            plugins.packages() == {"mychip": "chip_package 1.5"}
            and "mychip" not in backends.names()
        )
        found = explain(parse(CLEAN), "mychip")
        assert [e.status for e in found] == ["host", "offloaded"]

    def test_explain_patterns_loads_an_installed_back_end(self, tmp_path: Path) -> None:
        table = "patterns=[('mychip.relu', is_op('nn.relu')(wildcard()))], codegen=compiled"
        code = chip.CHIP.replace('supports=["nn.relu"], codegen=compiled', table)
        imported = "from byoc_lab.relay.dataflow_pattern import is_op, wildcard\n"
        install(tmp_path, "chip_package", imported + code)
        (entry,) = explain_patterns("mychip", parse(CLEAN))
        assert (entry.name, entry.status, entry.matches) == ("mychip.relu", "matches", 1)

    @pytest.mark.parametrize("ask", [backends.get, named_pipeline, get_backend])
    def test_each_function_with_a_back_end_loads_an_installed_one(
        self, tmp_path: Path, ask: object
    ) -> None:
        install(tmp_path, "chip_package", chip.CHIP)
        assert callable(ask) and ask("mychip")

    def test_lint_finds_an_installed_code_generator(self, tmp_path: Path) -> None:
        install(tmp_path, "chip_package", chip.CHIP)
        plugins.load("mychip")
        mod = backends.partition(parse(CLEAN), "mychip")
        chip.forget()
        del sys.modules["chip_package"]
        assert not lint(mod, backend="dnnl", rules=["missing-codegen"])

    def test_relax_loads_an_installed_back_end(self, tmp_path: Path) -> None:
        pytest.importorskip("tvm", reason="apache-tvm is not installed")
        from byoc_lab.relax import backends as of_relax

        code = "from byoc_lab import relax\nrelax.register('mychip', supports=['nn.relu'])\n"
        install(tmp_path, "relax_package", code)
        try:
            assert of_relax.get("mychip").name == "mychip"
        finally:
            of_relax.unregister("mychip")

    def test_broken_package_is_named_and_others_work(self, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
        install(tmp_path / "a", "bad_package", "import missing_driver\n", "badchip")
        install(tmp_path / "b", "chip_package", chip.CHIP)
        message = r"the back end 'badchip' of bad_package 1.5 \(entry point bad_package\)"
        with pytest.raises(PlugInError, match=f"{message}: .*No module named 'missing_driver'"):
            backends.get("badchip")
        assert backends.get("mychip").name == "mychip"
        rows = {check.name: str(check) for check in examine()}
        assert rows["back end mychip"] == "ok        back end mychip: chip_package 1.5"
        assert rows["back end badchip"].startswith("optional  back end badchip: cannot import the")

    def test_two_packages_with_one_name_are_refused(self, tmp_path: Path) -> None:
        for package in ("one_package", "other_package"):
            (tmp_path / package).mkdir()
            install(tmp_path / package, package, chip.CHIP)
        with pytest.raises(
            PlugInError, match=r"one_package 1\.5 and other_package 1\.5; uninstall"
        ):
            backends.get("mychip")

    def test_package_that_registers_another_name_is_reported(self, tmp_path: Path) -> None:
        install(tmp_path, "chip_package", chip.CHIP, "yourchip")
        with pytest.raises(UnknownNameError, match="no back end is registered as 'yourchip'"):
            backends.get("yourchip")

    def test_misspelt_name_is_compared_with_installed_ones(self, tmp_path: Path) -> None:
        install(tmp_path, "chip_package", chip.CHIP)
        with pytest.raises(UnknownNameError, match="did you mean 'mychip'"):
            backends.get("mychp")
        assert plugins.load("mychp") is False
