"""Messages of building and running partitioned modules."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

ANY_TVM = "TVM 0.6 to 0.19"

MESSAGES = (
    Message(
        "reserved-compiler",
        ("codegen tool for relay.ext.", "external codegen for", "' is not a back end: a function"),
        r"(?:Failed to find|Cannot find) (?:the )?(?:external )?codegen(?: tool)? for "
        r"(?:relay\.ext\.)?(?P<name>default\b|(?=\s|$))|'(?P<own>default|)' is not a back end: a "
        r"function[^\n]*",
        "TVM 0.6 to 0.19, and byoc_lab",
        "A function has the attribute Compiler=\"{name}{own}\", which is not the name of a "
        "back end: \"default\" means that TVM itself compiles it; no code generator is registered",
        "Remove the attribute Compiler from the function, so that TVM compiles it, or give it the "
        "name of a back end. PartitionGraph removes annotations of \"default\" and makes no such "
        "function",
        ("Check failed: (pf) is false: Failed to find the external codegen tool for "
         "relay.ext.default",
         "TVMError: Check failed: pf: Failed to find the codegen tool for relay.ext.\n",
         "UnknownNameError: 'default' is not a back end: a function with the attribute "
         "Compiler='default' has no code generator, and annotations of 'default' mean the host."),
        ("BYL034",),
        stated=True,
    ),
    Message(
        "no-codegen",
        ("external codegen tool for", "the codegen tool for", "external codegen for"),
        r"(?:Failed to find|Cannot find) (?:the )?(?:external )?codegen(?: tool)? for "
        r"(?P<name>(?:relay\.ext\.)?[\w.-]+)",
        ANY_TVM,
        "The module has a region for a compiler without code generator: {name} is not registered. "
        "The name is misspelt, or TVM was built without it",
        "Register relay.ext.<compiler>, build TVM with it (for DNNL: set(USE_DNNL ON) in "
        "config.cmake), or annotate for a compiler that is there",
        ("Check failed: (pf) is false: Failed to find the external codegen tool for relay.ext.A",
         "Check failed: pf: Failed to find the codegen tool for relay.ext.dnnl",
         "TVMError: Cannot find external codegen for ccompilr"),
        ("BYL020",),
    ),
    Message(
        "no-such-function",
        ("Cannot find global function ",),
        r"Cannot find global function (?P<name>rela[yx]\.ext\.(?P<compiler>[\w-]+)[\w.-]*)",
        "TVM 0.6 to 0.27",
        "This TVM has no function {name}: the name is misspelt, TVM was built without the code "
        "generator of {compiler}, or the Python module that registers the function was not "
        "imported",
        "Build TVM with it (for DNNL: set(USE_DNNL ON) in config.cmake), or import the module that "
        "registers it; tvm.get_global_func(..., allow_missing=True) returns None in place of the "
        "error",
        ("ValueError: Cannot find global function relay.ext.dnnl",
         "ValueError: Cannot find global function relax.ext.tensorrt"),
    ),
    Message(
        "annotation-built",
        ("doesn't have an FTVMStrategy registered", "doesn't have FTVMStrategy registered"),
        r"(?P<name>annotation\.compiler_(?:begin|end)) doesn't have (?:an )?FTVMStrategy",
        "TVM 0.7 to 0.19",
        "The module still has annotations: {name} cannot be computed. This also happens in a "
        "pass that evaluates constants (FoldConstant on annotated constants)",
        "Run PartitionGraph before building, and fold constants before AnnotateTarget",
        ("AssertionError: annotation.compiler_begin doesn't have an FTVMStrategy registered. You "
         "can register one in python with `tvm.relay.op.register_strategy`.",),
        stated=True,
    ),
    Message(
        "no-strategy",
        ("have an FTVMStrategy registered", "have FTVMStrategy registered"),
        r"(?P<name>[\w.]+) doesn't have (?:an )?FTVMStrategy",
        "TVM 0.7 to 0.19",
        "TVM cannot compile {name} itself, and no region contains it",
        "Offload it, or replace it by a pass (Legalize for qnn, DynamicToStatic for dyn)",
        ("AssertionError: qnn.conv2d doesn't have an FTVMStrategy registered.",),
    ),
    Message(
        "qnn-not-lowered",
        ("Please run QNN Canonicalize pass",),
        r"(?P<name>qnn\.\w+) is currently only supported with Hexagon\. Please run QNN Canonic",
        "TVM 0.9 to 0.19",
        "{name} is neither in a region nor replaced: the pass that lowers quantized operators to "
        "plain operators did not run",
        "Run qnn.transform.CanonicalizeOps, which relay.build does unless it is disabled, or "
        "offload the operator",
        ("RuntimeError: qnn.conv2d is currently only supported with Hexagon. Please run QNN "
         "Canonicalize pass to decompose this op into supported ops.",),
    ),
    Message(
        "unknown-composite",
        ("Unknown composite function", "Unrecognized DNNL pattern", "Unsupported composite"),
        r"(?:Unknown composite function|Unrecognized DNNL pattern|Unsupported composite"
        r"(?: function)?):?\s*[\"'`]?(?P<name>[\w.-]*)",
        ANY_TVM,
        "The code generator gets a composite that it does not know: {name}. The pattern table has "
        "entries that it does not implement",
        "Implement it in the code generator, or take the entry out of the table; names must agree, "
        "prefix included",
        ("Check failed: Unknown composite function:dnnl.conv2d_sum",
         "TVMError: Unrecognized DNNL pattern: dnnl.dense_gelu",
         'TVMError: Unknown composite function:"dnnl.qnn.dense"'),
        lesson="fused-ops",
        stated=True,
    ),
    Message(
        "composite-refused",
        ("Expects a single op.", "Expects op to be"),
        r"Expects a single op\.|Expects op to be \S+",
        "TVM 0.7 to 0.19",
        "The code generator gets a composite although it can only translate single operators, or "
        "a composite with a structure that it does not support",
        "Take the pattern out of the table of this compiler, or implement its composite in the "
        "code generator",
        ("InternalError: Check failed: (op_node) is false: Expects a single op.",),
        lesson="fused-ops",
    ),
    Message(
        "unsupported-op",
        ("Unsupported op", "Unrecognized op"),
        r"Un(?:supported|recognized) op(?:erator)?(?: conversion to TRT, op name)?"
        r"(?:(?::|(?= \w+\.\w)) ?(?:#\[version[^\n]*\n)?(?P<name>[\w.]+))?",
        ANY_TVM,
        "A region has an operator that the code generator cannot translate: {name}",
        "Make the predicate (target.<compiler>) or the pattern's check refuse it, so that it stays "
        "on the host",
        ("TVMError: Unsupported op: AttrStmt(nn.batch_norm)",
         "Check failed: Unsupported op: nn.conv3d", "TVMError: Unrecognized op",
         "TVMError: Unsupported op: #[version = \"0.0.5\"]\nnn.relu",
         "Unsupported operator conversion to TRT, op name: nn.dropout"),
    ),
    Message(
        "built-without",
        ("Please build with USE_",),
        r"Please build with (?P<flag>USE_\w+)",
        "TVM 0.7 to 0.27",
        "The TVM that runs the region was built without {flag}",
        "Build its runtime with it: set({flag} ON) in config.cmake",
        ("TVMError: TensorRT runtime is not enabled. Please build with USE_TENSORRT_RUNTIME.",),
        stated=True,
    ),
    Message(
        "no-json-runtime",
        ("Cannot find JSON runtime module to create",),
        r"Cannot find JSON runtime module to create",
        "TVM 0.7 to 0.19",
        "The code generator of the region is available, but the runtime that executes its JSON "
        "is not",
        "Build TVM's runtime with it (USE_DNNL=JSON, for example), on the machine that runs, too",
        ("Check failed: pf != nullptr: Cannot find JSON runtime module to create",),
    ),
    Message(
        "no-loader",
        ("Binary was created using", "module.loadbinary_"),
        r"(?:Binary was created using \{?(?P<name>\w+)\}? but a loader|Loader (?:for |of )?`?"
        r"(?P<loader>\w+)`? ?\(`?(?:runtime\.)?module\.loadbinary_)",
        ANY_TVM,
        "A library has regions of {name}{loader}, but the TVM that loads it was built without "
        "their runtime",
        "Load it with a TVM that was built with this back end",
        ("Binary was created using {dnnl_json} but a loader of that name is not registered.",
         "Check failed: f != nullptr: Loader dnnl_json (runtime.module.loadbinary_dnnl_json) is "
         "not presented.",
         "Check failed: f != nullptr: Loader for `dnnl_json`(`runtime.module.loadbinary_dnnl_json`)"
         " is not registered"),
    ),
    Message(
        "no-header",
        ("No such file or directory",),
        r"(?:fatal error: )(?P<header>(?:tvm|dlpack|dmlc|dnnl)/[\w./]+): No such file or directory",
        ANY_TVM,
        "A region's C source includes {header}, but export_library does not pass its folder to "
        "the compiler",
        "Give export_library the folders: options=['-I' + path, ...], with TVM's include, "
        "3rdparty/dlpack/include, 3rdparty/dmlc-core/include and src/runtime/contrib",
        ("lib0.cc:3:10: fatal error: tvm/runtime/c_runtime_api.h: No such file or directory",
         "lib1.cc:7:10: fatal error: dnnl/dnnl_kernel.h: No such file or directory"),
    ),
    Message(
        "no-function-in-modules",
        ("in the imported modules or global registry", "no such function in module: ",
         "Module has no function "),
        r"(?:Cannot find function (?=\w+ in the imported modules or global registry)|no such "
        r"function in module: |Module has no function ['\"])(?P<name>\w+)",
        ANY_TVM,
        "The function {name} is called, but no linked module has it: the code generator created "
        "a symbol other than the function's global_symbol, or its module was not imported or not "
        "exported",
        "Use the function's global_symbol as the symbol; save with export_library, which takes "
        "imported modules along",
        ("Check failed: Cannot find function tvmgen_default_dnnl_main_0 in the imported modules or "
         "global registry.",
         "Check failed: (pf != nullptr) is false: no such function in module: "
         "tvmgen_default_ccompiler_main_0",
         "AttributeError: Module has no function 'ccompiler_0'"),
    ),
    Message(
        "entries-mismatch",
        ("Found mismatch in the number of provided data entr",),
        r"Found mismatch in the number of provided data entr",
        "TVM 0.7 to 0.19",
        "The number of tensors in the call of a region differs from the number of inputs and "
        "outputs of its code",
        "Rebuild the library from the partitioned module; check that constants were bound at "
        "build time and at run time alike",
        ("Check failed: args.size() == input_var_eid_.size() + outputs_.size() (3 vs. 4): Found "
         "mismatch in the number of provided data entryies and required.",),
        stated=True,
    ),
    Message(
        "duplicate-symbol",
        ("multiple definition of", "duplicate symbol"),
        r"multiple definition of [`'\"](?P<name>\w+)|duplicate symbol:? (?P<symbol>\S+)",
        ANY_TVM,
        "Two functions of one library have the same symbol: {name}{symbol}",
        "Give each external function its own global_symbol; partition modules that are linked "
        "together with different values of mod_name",
        ("ld: /tmp/lib1.o: multiple definition of `tvmgen_default_dnnl_main_0'; /tmp/lib0.o",
         "ld.lld: error: duplicate symbol: dnnl_0"),
        stated=True,
    ),
    Message(
        "operator-not-registered",
        ("is not registered",),
        r"(?:AttributeError: )?Operator (?P<name>[\w.]+) is not registered(?! [a-z])",
        ANY_TVM,
        "No operator is named {name}",
        "Correct the name; relay.op.Op.get lists the operators of a like name",
        ("AttributeError: Operator nn.conv2 is not registered",),
        stated=True,
    ),
    Message(
        "relay-is-gone",
        ("No module named 'tvm.relay", "cannot import name 'relay' from 'tvm'",
         "module 'tvm' has no attribute 'relay'"),
        r"No module named 'tvm\.relay|cannot import name 'relay' from 'tvm'|module 'tvm' has no "
        r"attribute 'relay'",
        "TVM 0.20 and later",
        "This TVM has no Relay: it was removed in 0.20",
        "Import byoc_lab.relay, or run the script with python -m byoc_lab.compat, which gives it "
        "TVM's names",
        ("ModuleNotFoundError: No module named 'tvm.relay'",
         "ImportError: cannot import name 'relay' from 'tvm' (/lib/tvm/__init__.py)"),
    ),
    Message(
        "undefined-reference",
        ("undefined reference to ",),
        r"undefined reference to [`'\"](?P<name>[^'\"\n]+)['\"]?",
        "the linker, with any TVM",
        "The linker finds no definition of {name}. The C source of a region calls it, and the file "
        "or library that defines it is not among those that export_library links",
        "Give export_library the library: options=['-L' + folder, '-l' + name]; or write the "
        "definition into the source of the region. For a function of C++ declare it extern \"C\"",
        ("RuntimeError: Compilation error:\n/usr/bin/ld: /tmp/lib0.o: in function "
         "`tvmgen_default_mychip_main_0_':\ndevc.c:(.text+0x1b): undefined reference to "
         "`mychip_conv2d'\ncollect2: error: ld returned 1 exit status",),
    ),
    Message(
        "undefined-symbol",
        ("undefined symbol: ", "symbol not found in flat namespace"),
        r"undefined symbol: (?P<name>\w+)|symbol not found in flat namespace '(?P<mac>\w+)'",
        "the loader, with any TVM",
        "A loaded library needs {name}{mac}, which no loaded library has: it was not linked when "
        "the library was built, or it has a different version",
        "Link the library that defines it when the library is built (export_library(path, "
        "options=['-l' + "
        "name])), or load the defining library first: ctypes.CDLL(path, ctypes.RTLD_GLOBAL). The "
        "functions dnnl_* "
        "are in a TVM that was built with set(USE_DNNL ON)",
        ("OSError: ./compiled.so: undefined symbol: dnnl_conv2d",
         "OSError: dlopen(lib.so, 0x0006): symbol not found in flat namespace '_dnnl_conv2d'"),
    ),
    Message(
        "library-not-found",
        ("cannot find -l", "cannot open shared object file"),
        r"cannot find -l(?P<name>[^\s:]+)|(?P<file>[^\s:]+): cannot open shared object file",
        "the linker and the loader, with any TVM",
        "The library {name}{file} is not found, by the linker when a library is made, by the "
        "loader when one is opened",
        "Install it. For the linker name its folder: options=['-L' + folder, ...] of "
        "export_library; for the loader: LD_LIBRARY_PATH, or options=['-Wl,-rpath,' + folder, ...]",
        ("/usr/bin/ld: cannot find -ldnnl: No such file or directory",
         "OSError: libdnnl.so.2: cannot open shared object file: No such file or directory"),
        stated=True,
    ),
    Message(
        "onednn-refuses",
        ("could not create a primitive descriptor for a",),
        r"could not create a primitive descriptor for an? (?P<name>[^\n]{1,80}?) primitive\b",
        "oneDNN, with any TVM",
        "oneDNN has no implementation of {name} for the dtypes, layouts, sizes or attributes in a "
        "region, or on this processor",
        "Let the check of the pattern refuse such calls, so that the host computes them",
        ("dnnl::error: could not create a primitive descriptor for a convolution forward "
         "propagation primitive",
         "RuntimeError: could not create a primitive descriptor for an inner product forward "
         "propagation primitive"),
    ),
    Message(
        "unknown-length",
        ("'Any'", "not Any", "'T.Any()'", "tir.expr.Any'>"),
        r"TypeError: [^\n]{0,200}?(?:'Any'|not Any\b|'T\.Any\(\)')[^\n]{0,200}|"
        r"<class 'tvm\.tir\.expr\.Any'> has no attribute \w+",
        "TVM 0.7 to 0.19",
        "A check, a converter or a code generator in Python needs a dimension size as a number, "
        "but the size is not known (relay.Any, printed as ?)",
        "Import the model with all dimension sizes (byoc-lab: --shape name=1,3,224,224), run "
        "DynamicToStatic if constants determine them, or make the check refuse a shape with "
        "unknown sizes first",
        ("TypeError: int() argument must be a string, a bytes-like object or a real number, not "
         "'Any'",
         "TypeError: 'Any' object cannot be interpreted as an integer",
         "TypeError: list indices must be integers or slices, not Any",
         "TypeError: expected a sequence of integers or a single integer, got 'T.Any()'",
         "AttributeError: <class 'tvm.tir.expr.Any'> has no attribute value"),
    ),
    Message(
        "length-as-condition",
        ("Cannot use and / or / not operator to Expr",),
        r"Cannot use and / or / not operator to Expr",
        "TVM 0.6 to 0.27",
        "Python code uses the truth value of a comparison whose operands are known only at run "
        "time, such as a dimension size that is relay.Any or a variable",
        "Import the model with all dimension sizes, or make the check refuse a shape with "
        "unknown sizes first: isinstance(size, tvm.tir.IntImm)",
        ("ValueError: Cannot use and / or / not operator to Expr, hint: use tvm.tir.all / "
         "tvm.tir.any instead",),
    ),
    Message(
        "layout-not-given",
        ("Desired layout(s) not specified for op",),
        r"Desired layout\(s\) not specified for op: (?P<name>[\w.]+)",
        "TVM 0.7 to 0.19",
        "A warning: ConvertLayout has no desired layout for {name}, which keeps its layout, with "
        "layout_transform inserted if its neighbours were converted",
        "Add the operator to ConvertLayout's map of desired layouts if it should change, too",
        ("Warning: Desired layout(s) not specified for op: nn.max_pool2d",),
        stated=True,
    ),
)  # fmt: skip
