// Attributes of an operator: the operator declares them as data, and they are read from a JSON
// object.
#ifndef BYOC_LAB_ATTRS_H_
#define BYOC_LAB_ATTRS_H_

#include <tvm/ffi/extra/json.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "check.h"

namespace byoc_lab {

namespace json = tvm::ffi::json;
using JsonObject = ffi::Map<ffi::String, ffi::Any>;

// One attribute. Its type is the type of `fallback`, its default value. Integers and the elements
// of an integer list are in [min, max].
struct AttrSpec {
  std::string name;
  std::variant<int64_t, Dims, double, bool, std::string> fallback;
  int64_t min = 0;
  int64_t max = kMaxSize;
  bool required = false;  // then `fallback` defines only the type
  bool any_length = false;  // an integer list of any length up to `max`
};

class Attrs {
 public:
  // Reads `object` as declared by `specs`. An unknown key, a wrong type, a list of another length
  // or a value out of range raises TypeError or ValueError naming the attribute.
  static Attrs Read(const std::string& where, const std::vector<AttrSpec>& specs,
                    const JsonObject& object);

  int64_t Int(const std::string& name) const { return std::get<int64_t>(values_.at(name)); }
  const Dims& Ints(const std::string& name) const { return std::get<Dims>(values_.at(name)); }
  double Number(const std::string& name) const { return std::get<double>(values_.at(name)); }
  bool Flag(const std::string& name) const { return std::get<bool>(values_.at(name)); }
  const std::string& Word(const std::string& name) const {
    return std::get<std::string>(values_.at(name));
  }

 private:
  std::map<std::string, decltype(AttrSpec::fallback)> values_;
};

// A JSON object with string keys; TypeError otherwise. Keys outside `known` are refused.
JsonObject AsObject(const std::string& where, const ffi::Any& value,
                    const std::vector<std::string>& known);

// A finite number; TypeError or ValueError otherwise.
double AsNumber(const std::string& where, const std::string& name, const ffi::Any& value);

// The kind of a value in JSON's terms: "a string", "a list", ...
std::string TypeName(const ffi::Any& value);

// "relu, clip, tanh": for messages that list the known names.
std::string Join(const std::vector<std::string>& words);

}  // namespace byoc_lab

#endif  // BYOC_LAB_ATTRS_H_
