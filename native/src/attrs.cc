#include "attrs.h"

#include <algorithm>
#include <cmath>

namespace byoc_lab {
namespace {

int64_t AsInt(const std::string& where, const AttrSpec& spec, const ffi::Any& value) {
  // Strict: neither `true` nor 2.0 is an integer here.
  const auto number = value.as<int64_t>();
  if (!number.has_value() || value.as<bool>().has_value()) {
    TVM_FFI_THROW(TypeError) << where << ": " << spec.name << ": expected an integer, found "
                             << TypeName(value);
  }
  if (*number < spec.min || *number > spec.max) {
    TVM_FFI_THROW(ValueError) << where << ": " << spec.name << ": expected a value in [" << spec.min
                              << ", " << spec.max << "], found " << *number;
  }
  return *number;
}

Dims AsInts(const std::string& where, const AttrSpec& spec, const ffi::Any& value) {
  const size_t length = std::get<Dims>(spec.fallback).size();
  const auto list = value.as<ffi::Array<ffi::Any>>();
  if (!list.has_value()) {
    TVM_FFI_THROW(TypeError) << where << ": " << spec.name << ": expected a list of "
                             << (spec.any_length ? "" : std::to_string(length) + " ")
                             << "integers, found " << TypeName(value);
  }
  if (spec.any_length && list->size() > static_cast<size_t>(spec.max)) {
    TVM_FFI_THROW(ValueError) << where << ": " << spec.name << ": expected at most " << spec.max
                              << " integers, found " << list->size();
  }
  if (!spec.any_length && list->size() != length) {
    TVM_FFI_THROW(ValueError) << where << ": " << spec.name << ": expected " << length
                              << " integers, found " << list->size();
  }
  Dims result;
  for (const ffi::Any& element : *list) result.push_back(AsInt(where, spec, element));
  return result;
}

}  // namespace

std::string TypeName(const ffi::Any& value) {
  static const std::map<std::string, std::string> names = {
      {"None", "null"},           {"bool", "true or false"},
      {"int", "an integer"},      {"float", "a number with a fraction"},
      {"ffi.SmallStr", "a string"}, {"ffi.String", "a string"},
      {"ffi.Array", "a list"},    {"ffi.List", "a list"},
      {"ffi.Map", "an object"},   {"ffi.Dict", "an object"},
      {"ffi.BigInt", "an integer of more than 64 bits"}};
  const std::string key = value.GetTypeKey();
  const auto found = names.find(key);
  return found == names.end() ? key : found->second;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

JsonObject AsObject(const std::string& where, const ffi::Any& value,
                    const std::vector<std::string>& known) {
  const auto object = value.as<JsonObject>();
  if (!object.has_value()) {
    TVM_FFI_THROW(TypeError) << where << ": expected an object with string keys, found "
                             << TypeName(value);
  }
  for (const auto& [key, unused] : *object) {
    if (std::find(known.begin(), known.end(), std::string(key)) == known.end()) {
      TVM_FFI_THROW(ValueError) << where << ": unknown key '" << key << "'; known are "
                                << (known.empty() ? "none" : Join(known));
    }
  }
  return *object;
}

double AsNumber(const std::string& where, const std::string& name, const ffi::Any& value) {
  const auto real = value.as<double>();
  const auto integer = value.as<int64_t>();
  if ((!real.has_value() && !integer.has_value()) || value.as<bool>().has_value()) {
    TVM_FFI_THROW(TypeError) << where << ": " << name << ": expected a number, found "
                             << TypeName(value);
  }
  const double number = real.has_value() ? *real : static_cast<double>(*integer);
  if (!std::isfinite(static_cast<float>(number))) {
    TVM_FFI_THROW(ValueError) << where << ": " << name
                              << ": expected a number that is finite in float32, found " << number;
  }
  return number;
}

Attrs Attrs::Read(const std::string& where, const std::vector<AttrSpec>& specs,
                  const JsonObject& object) {
  std::vector<std::string> known;
  for (const AttrSpec& spec : specs) known.push_back(spec.name);
  AsObject(where, object, known);
  Attrs attrs;
  for (const AttrSpec& spec : specs) {
    const auto found = object.find(spec.name);
    if (found == object.end()) {
      if (spec.required) {
        TVM_FFI_THROW(ValueError) << where << ": attribute '" << spec.name << "' is missing";
      }
      attrs.values_[spec.name] = spec.fallback;
      continue;
    }
    const ffi::Any value = (*found).second;
    auto& slot = attrs.values_[spec.name];
    if (std::holds_alternative<int64_t>(spec.fallback)) {
      slot = AsInt(where, spec, value);
    } else if (std::holds_alternative<Dims>(spec.fallback)) {
      slot = AsInts(where, spec, value);
    } else if (std::holds_alternative<double>(spec.fallback)) {
      slot = AsNumber(where, spec.name, value);
    } else if (std::holds_alternative<bool>(spec.fallback)) {
      const auto flag = value.as<bool>();
      if (!flag.has_value()) {
        TVM_FFI_THROW(TypeError) << where << ": " << spec.name << ": expected true or false, found "
                                 << TypeName(value);
      }
      slot = *flag;
    } else {
      const auto word = value.as<ffi::String>();
      if (!word.has_value()) {
        TVM_FFI_THROW(TypeError) << where << ": " << spec.name << ": expected a string, found "
                                 << TypeName(value);
      }
      slot = std::string(*word);
    }
  }
  return attrs;
}

}  // namespace byoc_lab
