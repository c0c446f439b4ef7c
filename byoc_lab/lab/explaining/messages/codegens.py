"""Messages of TVM's code generators and runtimes of regions, and about their constants."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

ANY_TVM = "TVM 0.6 to 0.19"
JSON = "TVM 0.7 to 0.19"

MESSAGES = (
    Message(
        "function-exists",
        ("already exists", "ContainGlobalVar("),
        r"(?:[^\n]*ContainGlobalVar\(\w+\)[^\n]*?: )?Global function (?P<name>\S+) already exists",
        "TVM 0.6 to 0.19",
        "PartitionGraph makes a function @{name} of a region, and the module already has one of "
        "that name: it was partitioned before, or a function was given such a name",
        "Partition a module once, or give each run of PartitionGraph its own mod_name; rename the "
        "other function",
        ("Check failed: (!module_->ContainGlobalVar(name)) is false: Global function "
         "tvmgen_default_npu_main_0 already exists",),
        ("BYL009",),
    ),
    Message(
        "composites-only",
        ("Only composite function is supported for",),
        r"Only composite function is supported for (?P<compiler>\w+)",
        "TVM 0.8 to 0.19",
        "A region has an operator outside of composites, but the code generator of {compiler} "
        "only compiles composites",
        "Annotate only composites: register no predicate target.<compiler> for operators, but a "
        "pattern for each operator to offload",
        ("Check failed: (func.defined()) is false: Only composite function is supported for "
         "CUTLASS.",),
    ),
    Message(
        "constant-missing",
        ("ConstLoaderModuleNode is missing entry",),
        r"ConstLoaderModuleNode is missing entry for constant '(?P<name>[^']+)' for function "
        r"'(?P<function>[^']+)'",
        "TVM 0.9 to 0.19",
        "The code of the region {function} needs the constant {name}, but the build did not "
        "collect it: the name in the const_vars of the code generator differs from the name "
        "under which the constant was recorded",
        "Give constants the names that the code generator reports: <symbol>_const_<number>, or a "
        "constant updater of its own (relay.ext.<compiler>.constant_updater); use the function's "
        "global_symbol as the symbol",
        ("Check failed: (const_var_ndarray_.count(var) > 0) is false: ConstLoaderModuleNode is "
         "missing entry for constant 'dnnl_0_const_0' for function 'dnnl_0'",),
    ),
    Message(
        "constant-not-recorded",
        ("Found not recorded constant variable", "No symbol is recorded for",
         "Found non-existent constant"),
        r"(?:Found not recorded constant variable|No symbol is recorded for|Found non-existent "
        r"constant):? ?(?P<name>[\w.\-]*)",
        JSON,
        "The code of a region asks for the constant or symbol {name}, which was not saved with it",
        "Build the library again from the partitioned module; use the function's global_symbol, "
        "and report every constant of the region in const_vars",
        ("Check failed: Found not recorded constant variable: dnnl_0_const_1",
         "No symbol is recorded for dnnl_0", "Found non-existent constant: npu_0_const_0"),
    ),
    Message(
        "constants-mismatch",
        ("number of input constants must match", "mismatch for the number of constants",
         "position of constant in the graph must be", "number of variables and ndarray counts"),
        r"(?:The number of input constants must match the number of required|Found mismatch for "
        r"the number of constants in the graph and required|The position of constant in the graph "
        r"must be the same as the required|The number of variables and ndarray counts must match)",
        JSON,
        "The constants that a region's runtime gets differ from those in its JSON graph, or have "
        "a different order",
        "Build code and constants from one partitioned module; a code generator must report each "
        "constant once, in the order in which its graph lists them",
        ("Check failed: (consts.size() == const_idx_.size()) is false: The number of input "
         "constants must match the number of required.",
         "Found mismatch for the number of constants in the graph and required.",
         "The position of constant in the graph must be the same as the required."),
    ),
    Message(
        "region-not-initialized",
        ("The module has not been initialized",),
        r"The module has not been initialized",
        JSON,
        "A region was called before its runtime got its constants: it was called directly, not "
        "through the module that initializes it",
        "Run the region through the executor, or call __init_<symbol> with its constants first",
        ("Check failed: (this->initialized_) is false: The module has not been initialized",),
    ),
    Message(
        "json-composites-only",
        ("JSON runtime only supports composite functions", "composite attribute supported"),
        r"JSON runtime only supports composite functions|Only functions with composite attribute "
        r"supported",
        JSON,
        "A region calls a function that is not a composite",
        "Inline the function before partitioning, or create it with MergeComposite",
        ("(comp.defined()) is false: JSON runtime only supports composite functions.",),
        stated=True,
    ),
    Message(
        "node-not-supported",
        ("JSON runtime currently doesn't support", "JSON runtime does not support calls to",
         "codegen doesn't support: ", "Unrecognized type node"),
        r"(?:JSON runtime currently doesn't support|JSON runtime does not support calls to|\w+ "
        r"codegen doesn't support:|Unrecognized type node:?) ?(?P<kind>[\w.]*)",
        ANY_TVM,
        "A region has a node that the code generator cannot translate: {kind}. Regions consist "
        "of calls, tuples and constants; let, if, match and references are not allowed in them",
        "Run ToGraphNormalForm before AnnotateTarget, or end the region before the node",
        ("JSON runtime currently doesn't support relay.If",
         "DNNL codegen doesn't support: TupleNode"),
    ),
    Message(
        "node-without-visitor",
        ("NodeFunctor calls un-registered function on type", "Do not have a default for "),
        r"(?:NodeFunctor calls un-registered function on type|Do not have a default for) "
        r"(?P<kind>[\w.]+)",
        "TVM 0.6 to 0.27",
        "A C++ visitor of a pass or a code generator has no function for nodes of type {kind}",
        "Add one to the visitor, or avoid such nodes: let, if and match are not allowed in regions",
        ("InternalError: Check failed: (can_dispatch(n)) is false: NodeFunctor calls un-registered "
         "function on type relay.Function",
         "TVMError: Do not have a default for relay.Match"),
        stated=True,
    ),
    Message(
        "region-of-tuples",
        ("Expect TensorType", "Do not support tuple nest", "only single output is support"),
        r"Expect TensorType(?:Node)?(?:, but received: ?\.?(?P<kind>[\w.]+))?|Do not support tuple "
        r"nest|only single output is support\w*",
        ANY_TVM,
        "A region has a value that the code generator does not support: a tuple instead of a "
        "tensor, a nested tuple, or several results",
        "Put compiler_begin and compiler_end on the fields of tuples; let the predicate refuse "
        "operators with several results",
        ("Check failed: (tensor_type) is false: Expect TensorType, but received: "
         "relay.TupleType",
         "Do not support tuple nest", "Internal error: only single output is support."),
        ("BYL027",),
    ),
    Message(
        "dtype-not-supported",
        ("Unsupported dtype", "is supported for now", "are supported for now"),
        r"Unsupported dtype:? ?(?P<dtype>\w*)|Only (?P<only>[\w ]+?) (?:is|are) supported for now",
        ANY_TVM,
        "A region has tensors or constants of a dtype that the code generator does not translate"
        ": {dtype}{only}",
        "Let the predicate refuse other dtypes, or cast before the region",
        ("TVMError: Unsupported dtype float64", "Only float is supported for now.",
         "Only float and int are supported for now."),
        ("BYL026",),
    ),
    Message(
        "attribute-not-supported",
        ("Not supported type: ", "Not yet supported type: ", "is not allowed in op attribute"),
        r"Not (?:yet )?supported type: (?P<kind>[\w.]+)|(?P<value>NDArray|void pointer) is not "
        r"allowed in op attribute",
        JSON,
        "The JSON serializer cannot write an attribute of an operator: {kind}{value}",
        "Override SetCallNodeAttribute in the serializer, or let the predicate refuse the operator",
        ("Not supported type: IntImm", "NDArray is not allowed in op attribute"),
    ),
    Message(
        "no-external-symbol",
        ("No external symbol is set", "has not been attached a name", "retrieve external symbol",
         "has not been given a global symbol"),
        r"No external symbol is set(?: for)?|External function has not been (?:attached a name|"
        r"given a global symbol)(?: yet)?|Fail to retrieve external symbol",
        ANY_TVM,
        "A function has the attribute Compiler and no global_symbol: it was not made by "
        "PartitionGraph, or a pass dropped its attributes",
        'Give it one: func.with_attr("global_symbol", name); or partition again',
        ("Check failed: (name_node.defined()) is false: External function has not been attached a "
         "name yet.", "No external symbol is set for:\nfn (%x) { %x }",
         "Fail to retrieve external symbol."),
    ),
    Message(
        "no-external-codegen",
        ("No external codegen is set", "No external runtime is generated"),
        r"No external codegen is set|No external runtime is generated",
        ANY_TVM,
        "A function is treated as external but has no compiler, or its code generator returned "
        "nothing",
        "Check the attribute Compiler of the function; relay.ext.<compiler> must return a "
        "runtime.Module",
        ("Check failed: (ext_mod.defined()) is false: No external runtime is generated.",
         "No external codegen is set"),
    ),
    Message(
        "duplicated-symbol",
        ("Found duplicated symbol",),
        r"Found duplicated symbol: (?P<name>\S+) for: (?P<compiler>\S+)",
        ANY_TVM,
        "Two external functions have the symbol {name}",
        "Give each its own global_symbol; partition modules that are linked together with "
        "different values of mod_name",
        ("Check failed: Found duplicated symbol: dnnl_0 for: dnnl",),
        ("BYL019",),
        stated=True,
    ),
    Message(
        "no-source-module",
        ("source module to create the external runtime",),
        r"Cannot find [Cc][Ss]ource module to create the external runtime module",
        ANY_TVM,
        "The code generator writes C, but this TVM has no module for C sources",
        "Use a TVM with its compiler, not the runtime alone",
        ("Check failed: pf != nullptr: Cannot find csource module to create the external runtime "
         "module",),
    ),
    Message(
        "not-a-function-or-module",
        ("The input ref is expected to be", "Input error: expect a Relay function"),
        r"The input ref is expected to be a Relay function(?: or module)?|Input error: expect a "
        r"Relay function",
        ANY_TVM,
        "A code generator was called with something other than an external function",
        "Register it as relay.ext.<compiler> and let relay.build call it",
        ("The input ref is expected to be a Relay function or module",),
    ),
    Message(
        "annotation-missing",
        ("annotation is missing", "No compiler annotation found"),
        r"(?P<which>compiler_begin|compiler_end) annotation is missing|"
        r"No compiler annotation found",
        "TVM 0.6 to 0.8",
        "PartitionGraph found no regions: a module without annotations, or with only begins or "
        "only ends. {which}",
        "Run AnnotateTarget before it, and find out why it annotates nothing: byoc_lab.explain",
        ("compiler_end annotation is missing", "No compiler annotation found"),
        ("BYL001", "BYL002", "BYL017"),
    ),
    Message(
        "start-without-region",
        ("corresponding region for start annotation", "Region not defined for"),
        r"Cannot find the corresponding region for start annotation|Region not defined for",
        ANY_TVM,
        "A compiler_begin, or an annotation, belongs to no region: no compiler_end closes it",
        "Put compiler_end on the value that leaves the region, or remove the begin",
        ("Cannot find the corresponding region for start annotation:\nannotation",
         "Check failed: Region not defined for CallNode(...)"),
        ("BYL002", "BYL010"),
    ),
    Message(
        "constant-name",
        ("External constant names must start with compiler name",),
        r"External constant names must start with compiler name",
        "TVM 0.8 to 0.19",
        "The constant updater of a back end records a constant under a name that does not begin "
        "with the name of the compiler",
        "Let it name constants <compiler>_..., as the function's symbol begins",
        ("Check failed: (const_name.find(codegen_name) == 0) is false: External constant names "
         "must start with compiler name",),
        stated=True,
    ),
    Message(
        "constant-unknown",
        ("No constants known for function '", "No such constant variable '",
         "More than one constant with the name ", "No binding for late-bound constant"),
        r"(?:No constants known for function|No such constant variable|More than one constant with "
        r"the name|No binding for late-bound constant(?: at index)?) ?'?(?P<name>[\w.\-]*)",
        "TVM 0.9 to 0.19",
        "The saved constants do not match the constants that the code needs, at {name}",
        "Load the library and the constants of the same build; give modules that are linked "
        "together different "
        "values of mod_name",
        ("No such constant variable 'dnnl_0_const_0' for function 'dnnl_0'",
         "No constants known for function 'npu_0'",
         "No binding for late-bound constant at index 3"),
    ),
    Message(
        "json-attribute-missing",
        ("is not found",),
        r"Key: ?(?P<name>\w+) ?is not found",
        JSON,
        "The runtime of a region asks a node of its JSON graph for the attribute {name}, which the "
        "code generator did not write: the composite has no call of the operator with it, or "
        "library and runtime are of different versions",
        "Let the serializer copy the attributes of the root operator of a composite "
        "(SetCallNodeAttribute), and build library and runtime from one version",
        ("Check failed: (attrs_.count(key) > 0U) is false: Key: stridesis not found",),
    ),
    Message(
        "json-damaged",
        ("Loading graph json failed", "Loading symbol name failed", "invalid json format",
         "Loading the const name list failed", "Loading const variables failed",
         "Loading variable names failed"),
        r"Loading (?:graph json|symbol name|the const name list|const variables|variable names) "
        r"failed|invalid json format",
        JSON,
        "A library ends in the middle of a region's data, or was written by a different version "
        "of TVM",
        "Export it again with the TVM version that loads it",
        ("Check failed: (stream->Read(&graph_json)) is false: Loading graph json failed",),
    ),
    Message(
        "region-arguments",
        ("Expect NDArray or DLTensor",),
        r"Expect NDArray or DLTensor",
        JSON,
        "A region was called with an argument that is not a tensor: a tuple entered it as one "
        "argument",
        "Put compiler_begin on the fields of the tuple",
        ("Check failed: Expect NDArray or DLTensor",),
        ("BYL027",),
    ),
    Message(
        "field-of-tuple-parameter",
        ("res.size() > static_cast<size_t>(op->index)",),
        r"res\.size\(\) > static_cast<size_t>\(op->index\)(?: \((?P<sizes>\d+ vs\. \d+)\))?",
        ANY_TVM,
        "A region takes a field of a tuple parameter, but the code generator treats the "
        "parameter as one value",
        "Put compiler_begin on the fields of the tuple, so that the region makes the tuple itself",
        ("Check failed: res.size() > static_cast<size_t>(op->index) (1 vs. 1)",),
        ("BYL027",),
    ),
    Message(
        "symbol-differs",
        ("kGlobalSymbol attribute must match the name",
         "requires all functions to already have a"),
        r"(?:If present, the )?kGlobalSymbol attribute must match the name of the GlobalVar|"
        r"ExistingGlobalSymbolCache requires all functions to already have a",
        "TVM 0.9 to 0.19",
        "An external function has no global_symbol, or its global_symbol differs from its name "
        "in the module",
        "Rename the function or the attribute, so that both agree; PartitionGraph makes them agree",
        ("If present, the kGlobalSymbol attribute must match the name of the GlobalVar",
         "ExistingGlobalSymbolCache requires all functions to already have a 'global_symbol'"),
        ("BYL019",),
    ),
    Message(
        "external-outputs",
        ("internal and external output tensor", "Internal and external output tensor"),
        r"(?:(?P<what>Data types|Element number) mismatching (?:for|of) internal and external "
        r"output tensors|Internal and external output tensor shapes are mismatched)",
        JSON,
        "The shape or dtype of a region's result differs from the tensor that the caller provides",
        "Build the library from the typed module that is run; check that the code generator keeps "
        "the type of the function's result",
        ("Data types mismatching for internal and external output tensors",
         "Internal and external output tensor shapes are mismatched"),
    ),
    Message(
        "targets-of-byoc",
        ("all subsequent must be for external codegen", "must be bound to an (external) Function"),
        r"[^\n]*all subsequent must be for external codegen[^\n]*|[^\n]*must be bound to an "
        r"\(external\) Function[^\n]*",
        "TVM 0.9 to 0.19",
        "The list of targets, or a call of a region, is invalid: targets of external compilers "
        "must follow the target of TVM, and a call must name a function of the module",
        "Give relay.build the host's target first, then those of the external compilers",
        ("the first must be for non external codegen, and all subsequent must be for external "
         "codegen. However have been given first",),
    ),
    Message(
        "integration-missing",
        ("Can only partition for TensorRT if it is enabled", "CUTLASS root directory not found",
         "Please pass Vitis AI DPU identifier"),
        r"Can only partition for (?P<name>\w+) if it is enabled|The (?P<library>CUTLASS) root "
        r"directory not found|Please pass (?P<vitis>Vitis AI) DPU identifier",
        "TVM 0.8 to 0.19",
        "The integration {name}{library}{vitis} cannot work: its library was not built into TVM, "
        "or an argument that it needs is missing",
        "Build TVM with it (USE_TENSORRT_CODEGEN, USE_CUTLASS), or pass the argument that the "
        "message names",
        ("AssertionError: Can only partition for TensorRT if it is enabled",
         "AssertionError: The CUTLASS root directory not found in: ['/tvm/3rdparty/cutlass']"),
    ),
)  # fmt: skip
