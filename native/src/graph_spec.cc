#include "graph_spec.h"

#include <climits>

namespace byoc_lab {
namespace {

// A graph is four levels deep; deeper text is refused before a recursive parser sees it.
constexpr int kMaxNesting = 8;

// Whether messages containing this text can be displayed: it is UTF-8.
bool IsUtf8(const std::string& text) {
  size_t i = 0;
  const auto next = [&]() {
    return i < text.size() ? static_cast<unsigned char>(text[i++]) : 0u;
  };
  while (i < text.size()) {
    const unsigned first = next();
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    unsigned point = first & (0x3Fu >> more);
    for (int n = 0; n < more; ++n) {
      const unsigned byte = next();
      if ((byte & 0xC0u) != 0x80) return false;
      point = point << 6 | (byte & 0x3Fu);
    }
    const unsigned least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (first < 0xC0 || first > 0xF7 || point < least || point > 0x10FFFF || surrogate) return false;
  }
  return true;
}

ffi::Any ParseJson(const std::string& text) {
  if (!IsUtf8(text)) TVM_FFI_THROW(ValueError) << "graph: not JSON: it is not UTF-8";
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) {
        TVM_FFI_THROW(ValueError) << "graph: brackets nest deeper than " << kMaxNesting
                                  << " at character " << i;
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  ffi::String error;
  const ffi::Any value = json::Parse(text, &error);
  if (!error.empty()) TVM_FFI_THROW(ValueError) << "graph: not JSON: " << error;
  return value;
}

ffi::Any Get(const std::string& where, const JsonObject& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) TVM_FFI_THROW(ValueError) << where << ": key '" << key
                                                       << "' is missing";
  return (*found).second;
}

std::string Word(const std::string& where, const JsonObject& object, const char* key) {
  const auto word = Get(where, object, key).as<ffi::String>();
  if (!word.has_value() || word->empty()) {
    TVM_FFI_THROW(TypeError) << where << ": " << key << ": expected a string of at least one "
                             << "character";
  }
  if (!IsUtf8(*word)) {  // half a surrogate pair, written as an escape
    TVM_FFI_THROW(ValueError) << where << ": " << key << ": expected text in Unicode";
  }
  return *word;
}

float Number(const std::string& where, const JsonObject& object, const char* key,
                    float fallback) {
  const auto found = object.find(key);
  return found == object.end() ? fallback
                               : static_cast<float>(AsNumber(where, key, (*found).second));
}

// Reads the parts of one graph; `Defined` tracks the tensors that have a value so far.
class Reader {
 public:
  GraphSpec Read(const std::string& text) {
    const JsonObject object =
        AsObject("graph", ParseJson(text), {"format", "version", "symbol", "tensors", "inputs",
                                            "constants", "outputs", "ops"});
    const std::string format = Word("graph", object, "format");
    if (format != kGraphFormat) {
      TVM_FFI_THROW(ValueError) << "graph: format: expected '" << kGraphFormat << "', found '"
                                << format << "'";
    }
    const auto version = Get("graph", object, "version").as<int64_t>();
    if (!version.has_value() || *version != kGraphVersion) {
      TVM_FFI_THROW(ValueError) << "graph: version: expected " << kGraphVersion << ", found "
                                << json::Stringify(Get("graph", object, "version"));
    }
    graph_.symbol = Word("graph", object, "symbol");
    where_ = "graph '" + graph_.symbol + "'";
    ReadTensors(List(where_, object, "tensors"));
    defined_by_.assign(graph_.tensors.size(), "");
    graph_.inputs = Ids(where_, object, "inputs");
    graph_.constants = Ids(where_, object, "constants");
    graph_.outputs = Ids(where_, object, "outputs");
    for (int id : graph_.inputs) Define(where_, id, "an input");
    for (int id : graph_.constants) Define(where_, id, "a constant");
    for (const ffi::Any& op : List(where_, object, "ops")) ReadOp(op);
    for (int id : graph_.outputs) RequireDefined(where_ + ", outputs", id);
    if (graph_.outputs.empty()) {
      TVM_FFI_THROW(ValueError) << where_ << ": outputs: expected at least one tensor id";
    }
    return std::move(graph_);
  }

 private:
  static ffi::Array<ffi::Any> List(const std::string& where, const JsonObject& object,
                                   const char* key) {
    const auto list = Get(where, object, key).as<ffi::Array<ffi::Any>>();
    if (!list.has_value()) TVM_FFI_THROW(TypeError) << where << ": " << key << ": expected a list";
    return *list;
  }

  std::string Label(int id) const { return "tensor '" + graph_.tensors[id].name + "'"; }

  int Id(const std::string& where, const char* key, const ffi::Any& value) const {
    const auto id = value.as<int64_t>();
    if (!id.has_value()) {
      TVM_FFI_THROW(TypeError) << where << ": " << key << ": expected a tensor id, found "
                               << json::Stringify(value);
    }
    if (*id < 0 || *id >= static_cast<int64_t>(graph_.tensors.size())) {
      TVM_FFI_THROW(ValueError) << where << ": " << key << ": tensor id " << *id
                                << " is out of range; the graph has " << graph_.tensors.size()
                                << " tensors";
    }
    return static_cast<int>(*id);
  }

  std::vector<int> Ids(const std::string& where, const JsonObject& object, const char* key) const {
    std::vector<int> ids;
    for (const ffi::Any& value : List(where, object, key)) ids.push_back(Id(where, key, value));
    return ids;
  }

  void Define(const std::string& where, int id, const std::string& definer) {
    if (!defined_by_[id].empty()) {
      TVM_FFI_THROW(ValueError) << where << ": " << Label(id) << " is defined twice: it is "
                                << defined_by_[id] << " already";
    }
    defined_by_[id] = definer;
  }

  int RequireDefined(const std::string& where, int id) const {
    if (!defined_by_[id].empty()) return id;
    TVM_FFI_THROW(ValueError) << where << ": " << Label(id) << " is used before it is defined: "
                              << "ops must be in topological order, without cycles";
    TVM_FFI_UNREACHABLE();
  }

  void ReadTensors(const ffi::Array<ffi::Any>& list) {
    for (size_t id = 0; id < list.size(); ++id) {
      const std::string where = where_ + ", tensor " + std::to_string(id);
      const JsonObject object = AsObject(where, list[id], {"name", "shape", "dtype"});
      Operand tensor{Word(where, object, "name"), {}};
      for (const ffi::Any& size : List(where, object, "shape")) {
        const auto number = size.as<int64_t>();
        if (!number.has_value()) {
          TVM_FFI_THROW(TypeError) << where << " '" << tensor.name << "': shape: expected "
                                   << "integers, found " << json::Stringify(size);
        }
        tensor.dims.push_back(*number);
      }
      CheckDims(where_, {"tensor '" + tensor.name + "'", tensor.dims});
      tensor.dtype = DTypeNamed(where + " '" + tensor.name + "'", Word(where, object, "dtype"));
      graph_.tensors.push_back(tensor);
    }
  }

  void ReadOp(const ffi::Any& value) {
    std::string where = where_ + ", op " + std::to_string(graph_.ops.size());
    const JsonObject object =
        AsObject(where, value, {"name", "kind", "inputs", "output", "attrs", "post_ops"});
    OpSpec op;
    op.name = Word(where, object, "name");
    where += " '" + op.name + "'";
    const std::string kind = Word(where, object, "kind");
    op.def = &FindOp(where, kind);
    where += " (" + kind + ")";

    op.inputs = Ids(where, object, "inputs");
    std::vector<Operand> operands;
    for (int id : op.inputs) {
      RequireDefined(where, id);
      operands.push_back(graph_.tensors[id]);
      operands.back().name = "(" + Label(id) + ")";
    }
    op.output = Id(where, "output", Get(where, object, "output"));
    const auto attrs = object.find("attrs");
    op.call = Bind(where, *op.def, operands, graph_.tensors[op.output].dtype,
                   attrs == object.end()
                       ? JsonObject()
                       : AsObject(where + ", attrs", (*attrs).second, AttrNames(*op.def)));

    const Operand output{"output (" + Label(op.output) + ")", graph_.tensors[op.output].dims};
    const Dims inferred = op.def->infer(op.call);
    if (op.def->make != nullptr || !op.def->reshapes) {
      CheckShape(where, output, inferred, "what the op computes");
    } else if (Count(output.dims) != Count(inferred)) {
      TVM_FFI_THROW(ValueError) << where << ": " << output.name << ": expected a shape of "
                                << Count(inferred) << " elements, found " << Text(output.dims);
    }
    if (object.find("post_ops") != object.end()) {
      for (const ffi::Any& post_op : List(where, object, "post_ops")) {
        AddPostOp(where + ", post-op " + std::to_string(op.post_ops.size()), post_op, &op);
      }
    }
    Define(where, op.output, "the output of op '" + op.name + "'");
    graph_.ops.push_back(std::move(op));
  }

  void AddPostOp(const std::string& where, const ffi::Any& value, OpSpec* op) {
    if (op->def->make == nullptr) {
      TVM_FFI_THROW(ValueError) << where << ": a " << op->def->kind << " takes no post-ops";
    }
    CheckPostOpResult(where, op->call);
    PostOp post_op = ReadPostOp(where, value);
    if (post_op.kind != PostOp::Kind::kEltwise) {
      RequireDefined(where, Id(where, "input", post_op.input));
      const Operand& input = graph_.tensors[post_op.input];
      post_op.input_dims = input.dims;
      post_op.input_dtype = input.dtype;
      CheckPostOpInput(where, post_op, {"input (" + Label(post_op.input) + ")", input.dims, input.dtype},
                       {"the result", graph_.tensors[op->output].dims, op->call.result});
    }
    op->post_ops.push_back(post_op);
  }

  static std::vector<std::string> AttrNames(const OpDef& def) {
    std::vector<std::string> names;
    for (const AttrSpec& spec : def.attrs) names.push_back(spec.name);
    return names;
  }

  std::string where_;
  GraphSpec graph_;
  std::vector<std::string> defined_by_;  // "" as long as a tensor has no value
};

}  // namespace

GraphSpec ReadGraph(const std::string& text) { return Reader().Read(text); }

PostOp ReadPostOp(const std::string& where, const ffi::Any& value) {
  const JsonObject object =
      AsObject(where, value, {"kind", "alg", "alpha", "beta", "input", "scale"});
  const std::string kind = Word(where, object, "kind");
  PostOp post_op;
  if (kind == "eltwise") {
    AsObject(where, value, {"kind", "alg", "alpha", "beta"});
    post_op.kind = PostOp::Kind::kEltwise;
    post_op.alg = Word(where, object, "alg");
    post_op.alpha = Number(where, object, "alpha", 0);
    post_op.beta = Number(where, object, "beta", 0);
    CheckEltwise(where, post_op.alg, post_op.alpha, post_op.beta);
    return post_op;
  }
  if (kind != "binary" && kind != "sum") {
    TVM_FFI_THROW(ValueError) << where << ": unknown kind '" << kind
                              << "'; known are eltwise, binary, sum";
  }
  const bool sum = kind == "sum";
  AsObject(where, value, {"kind", sum ? "scale" : "alg", "input"});
  post_op.kind = sum ? PostOp::Kind::kSum : PostOp::Kind::kBinary;
  const auto input = Get(where, object, "input").as<int64_t>();
  if (!input.has_value() || *input < 0 || *input > INT_MAX) {
    TVM_FFI_THROW(TypeError) << where << ": input: expected a tensor id, found "
                             << json::Stringify(Get(where, object, "input"));
  }
  post_op.input = static_cast<int>(*input);
  if (sum) {
    post_op.scale = Number(where, object, "scale", 1);
  } else {
    post_op.alg = Word(where, object, "alg");
    BinaryAlgorithm(where, post_op.alg);
  }
  return post_op;
}

void CheckPostOpResult(const std::string& where, const OpCall& call) {
  if (!IsInteger(call.result)) return;
  TVM_FFI_THROW(TypeError) << where << ": expected a result of float32 or bfloat16, found "
                           << Name(call.result) << "; dequantize it first";
}

void CheckPostOpInput(const std::string& where, const PostOp& post_op, const Operand& input,
                      const Operand& result) {
  if (input.dtype != result.dtype) {
    TVM_FFI_THROW(TypeError) << where << ": " << input.name << ": expected dtype "
                             << Name(result.dtype) << ", the result's, found "
                             << Name(input.dtype);
  }
  if (post_op.kind == PostOp::Kind::kSum) {
    CheckShape(where, input, result.dims, "the op's result");
  } else if (Broadcast(where, result, input) != result.dims) {
    TVM_FFI_THROW(ValueError) << where << ": " << input.name << ": expected a shape that "
                              << "broadcasts to the result's " << Text(result.dims) << ", found "
                              << Text(input.dims);
  }
}

}  // namespace byoc_lab
