"""Names are never treated as code or paths: generators, loaders and exporters with hostile
names."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from byoc_lab import build, relay
from byoc_lab.backends import dnnl, module_region
from byoc_lab.backends.c_source import c_source
from byoc_lab.backends.ccompiler import CRegion
from byoc_lab.backends.dnnl.cpp.source import cpp_source
from byoc_lab.backends.system_compiler import C, c_library, c_objects
from byoc_lab.errors import BuildError
from byoc_lab.relay import Call, Function, GlobalVar, IRModule
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import load_library
from byoc_lab.run.inline import flattened
from byoc_lab.run.symbols import KEYWORDS, c_text, checked_symbol, is_symbol
from byoc_lab.run.to_relax import parameter_name, relay_name, to_relax
from tests.compilers import needs_cc
from tests.hostile_names import FIXED, hostile_names
from tests.sweeps import some

pytest.importorskip("tvm_ffi")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
X = np.float32([[0.5, -2.0]])


def region(parameter: str = "x") -> Function:
    x = relay.var(parameter, shape=(1, 2))
    made = infer_expr(Function([x], relay.tanh(x)))
    assert isinstance(made, Function)
    return made


def module(name: str, compiler: str = "ccompiler", parameter: str = "x") -> IRModule:
    """A partitioned module with one region called `name`."""
    attrs = {"Compiler": compiler, "Primitive": 1, "global_symbol": name}
    gv, x = GlobalVar(name), relay.var(parameter, shape=(1, 2))
    mod = IRModule({"main": Function([x], relay.negative(Call(gv, [x])))})
    mod[gv] = region().with_attr(attrs)
    return infer_module(mod)


# Valid symbols, and the escaping of other text


@given(hostile_names)
def test_symbol_is_an_identifier_and_not_a_keyword(name: str) -> None:
    fits = bool(IDENTIFIER.fullmatch(name)) and name not in KEYWORDS
    assert is_symbol(name) == fits
    if fits:
        assert checked_symbol(name) == name
    else:
        with pytest.raises(BuildError, match="must be an identifier of C") as caught:
            checked_symbol(name)
        assert len(str(caught.value)) < 800 and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["main", "tvmgen_default_dnnl_main_0", "_", "a" * 5000])
def test_usual_names_are_symbols(name: str) -> None:
    assert checked_symbol(name) == name


@given(hostile_names)
def test_escaped_text_stays_in_its_c_comment_and_is_complete(name: str) -> None:
    text = c_text(name)
    assert not re.search(r'["*?\x00-\x1f\x7f]|\\(?![0-3][0-7]{2})', text)
    assert text.isprintable()
    octal = re.sub(rb"\\(\d{3})", lambda found: bytes([int(found[1], 8)]), text.encode())
    assert octal == name.encode("utf-8", "surrogatepass")


@needs_cc
def test_compiler_reads_escaped_text_as_the_original(tmp_path) -> None:
    names = [n for n in FIXED if len(n) < 100] + ["??/", "\\", "// \\", "a*/b", "??/\nint x;"]
    lines = [f"// {c_text(n)}\n/* {c_text(n)} */\n" for n in names]
    lines += [f'fwrite("{c_text(n)}", 1, sizeof("{c_text(n)}"), stdout);' for n in names]
    source = "#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"
    (tmp_path / "all.c").write_text(source)
    flags = ["-std=c11", "-trigraphs", "-Wall", "-Wno-overlength-strings"]
    command = ["cc", *flags, str(tmp_path / "all.c"), "-o", str(tmp_path / "all")]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(tmp_path / "all")], capture_output=True, check=True).stdout
    assert printed == b"".join(n.encode("utf-8", "surrogatepass") + b"\0" for n in names)


# Code generators

GENERATORS: dict[str, Callable[[str], Any]] = {
    "c_source": lambda name: c_source(region(), name),
    "CRegion": lambda name: CRegion(region(), name),
    "c_library": lambda name: c_library(name, [C("int x;")]),
    "c_objects": lambda name: c_objects(name, [C("int x;")], Path("/nowhere")),
    "DNNL graph": lambda name: dnnl.region_graph(region(), name),
    "DNNL region": lambda name: dnnl.compile_region(region(), name),
    "cpp_source": lambda name: cpp_source({**graph(), "symbol": name}),
    "Relax": lambda name: _relax(name),
    "build": lambda name: build(module(name)),
    "build with DNNL": lambda name: build(module(name, "dnnl")),
}


def graph(**changes: Any) -> dict[str, Any]:
    return {**dnnl.region_graph(region(), "region").graph, **changes}


def _relax(name: str) -> Any:
    mod = module(name)
    return to_relax(flattened(mod["main"], mod, keep=lambda f: f is mod[name]).main)


@pytest.mark.parametrize("generator", GENERATORS)
@given(name=hostile_names.filter(lambda name: not is_symbol(name)))
@settings(max_examples=some(10), deadline=None)
@example(name="f(void){}\n__attribute__((constructor)) void g(void)")
@example(name="../../outside")
def test_every_generator_refuses_a_name_that_is_not_a_symbol(generator: str, name: str) -> None:
    with pytest.raises(BuildError, match=r"function @.*must be an identifier of C"):
        GENERATORS[generator](name)


@given(hostile_names)
@settings(max_examples=some(40), deadline=None)
def test_names_in_a_foreign_graph_are_written_only_to_comments(name: str) -> None:
    made = graph()
    made["ops"] = [{**op, "name": name} for op in made["ops"]]
    made["tensors"] = [{**tensor, "name": name} for tensor in made["tensors"]]
    plain = [line for line in cpp_source(graph()).splitlines() if "//" not in line]
    assert [line for line in cpp_source(made).splitlines() if "//" not in line] == plain


@given(hostile_names.filter(lambda name: not is_symbol(name)))
@settings(max_examples=some(20), deadline=None)
def test_words_of_a_graph_that_could_be_code_are_refused(word: str) -> None:
    (op,) = graph()["ops"]
    tensor = graph()["tensors"][0]
    for changed in (
        graph(ops=[{**op, "kind": word}]),
        graph(ops=[{**op, "attrs": {"alg": word}}]),
        graph(ops=[{**op, "output": word}]),
        graph(ops=[{**op, "inputs": [word]}]),
        graph(ops=[{**op, "post_ops": [{"kind": "eltwise", "alg": word}]}]),
        graph(tensors=[{**tensor, "shape": [word]}, *graph()["tensors"][1:]]),
        graph(tensors=[{**tensor, "dtype": word}, *graph()["tensors"][1:]]),
    ):
        with pytest.raises(BuildError, match="expected numbers and words"):
            cpp_source(changed)


@pytest.mark.parametrize("part", ["ops", "tensors", "inputs", "symbol"])
@pytest.mark.parametrize("value", [None, 1, "x", [1], [{}], {}, [None]])
def test_malformed_graph_raises_build_error(part: str, value: Any) -> None:
    if (part, value) in [("symbol", "x"), ("inputs", [1])]:
        return  # well-formed
    with pytest.raises(BuildError):
        cpp_source(graph(**{part: value}))


# Modules from text

ATTACKS = {
    "code": 'f; __attribute__((constructor)) void g(void) {{ system("{command}"); }} int h',
    "a shell command": "f$({command})`{command}`; {command} #",
    "a path": "../../../../../../../../{path}",
    "an absolute path": "{path}",
    "an include": 'f\n#include "{path}"\nint h',
}


@needs_cc
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("compiler", ["ccompiler", "dnnl"])
@pytest.mark.filterwarnings("ignore::byoc_lab.run.OffloadWarning")
def test_text_cannot_run_a_command_or_write_a_file(
    attack: str, compiler: str, tmp_path, monkeypatch
) -> None:
    """Both were possible once by `byoc_lab.build(relay.parse(text))`."""
    outside, folder = tmp_path / "outside", tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(folder)
    name = ATTACKS[attack].format(command=f"touch {outside}", path=outside)
    text = module(name, compiler).astext()
    assert name in [gv.name_hint for gv in relay.parse(text).functions]  # texts accept any name
    for options in ({}, {"fallback": True}, {"offload": False}):
        try:
            program = build(relay.parse(text), **options)
        except BuildError as error:
            assert "must be an identifier of C" in str(error)
        else:
            assert options and np.allclose(program(X)[0], -np.tanh(X), atol=1e-6)
    assert list(tmp_path.iterdir()) == [folder]
    assert not list(folder.iterdir())


def test_region_with_the_name_of_a_host_function_is_refused() -> None:
    """Otherwise a call of one would run the other: here, TVM's kernel for `negative`."""
    mod = module("add")
    main = mod["main"]
    mod["main"] = Function(main.params, relay.add(main.body, main.body))
    with pytest.raises(BuildError, match="@add has the name of a function that TVM made"):
        build(infer_module(mod))


# Names of parameters: never refused, and kept

PARAMETERS = hostile_names.filter(lambda name: len(name) < 1000)


@given(hostile_names, st.integers(0, 99))
def test_names_of_parameters_are_restored_from_relax(name: str, number: int) -> None:
    written = parameter_name(number, name)
    assert written.isascii() and "\n" not in written and "\0" not in written
    assert relay_name(written) == name


@pytest.mark.parametrize("written", ["", "x", "p_x", "p1x", "p1_é", "p1_\\x4", "1_x", "p1_a\n"])
def test_invalid_parameter_name_raises_build_error(written: str) -> None:
    with pytest.raises(BuildError, match="has a parameter"):
        relay_name(written)


@given(PARAMETERS)
@settings(max_examples=some(4), deadline=None)
@example(name='\ud800*/"\n\0../x')
def test_hostile_parameters_are_built_saved_and_loaded(name: str) -> None:
    x = relay.var(name, shape=(1, 2))
    program = build(infer_module(IRModule.from_expr(Function([x], relay.erf(x)))))
    (wanted,) = program.run({name: X})
    with tempfile.TemporaryDirectory() as folder:
        program.export_library(Path(folder, "net.so"))
        assert [path.name for path in Path(folder).iterdir()] == ["net.so"]
        library = load_library(Path(folder, "net.so"))
    assert library.inputs == [name]
    np.testing.assert_array_equal(library.run({name: X})[0], wanted)


@needs_cc
@given(PARAMETERS)
@settings(max_examples=some(3), deadline=None)
@example(name='\ud800*/"\n\0../x')
def test_names_of_parameters_are_not_in_the_c_code_of_a_region(name: str) -> None:
    assert c_source(region(name), "f").text == c_source(region("x"), "f").text
    np.testing.assert_allclose(CRegion(region(name), "f")(X)[0], np.tanh(X), atol=1e-6)


@pytest.mark.native
@given(PARAMETERS)
@settings(max_examples=some(40), deadline=None)
def test_dnnl_regions_run_with_any_parameter_names(name: str) -> None:
    made = dnnl.region_graph(region(name), "f")
    assert json.loads(json.dumps(made.graph)) == made.graph
    assert cpp_source(made.graph) == cpp_source(graph(symbol="f"))
    compiled = dnnl.compile_region(region(name), "f")
    np.testing.assert_allclose(compiled(X)[0], np.tanh(X), atol=1e-6)


def test_module_without_the_region_function_is_refused() -> None:
    with pytest.raises(BuildError, match="has no function 'other'"):
        module_region.ModuleRegion(region(), "other", CRegion(region(), "f").module)
