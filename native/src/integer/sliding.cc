#include "integer/sliding.h"

namespace byoc_lab {

Sliding::Pixel Sliding::PixelOf(int64_t row) const {
  const int64_t line = row / result[2], plane = line / result[1];
  return {plane / result[0], plane % result[0], line % result[1], row % result[2]};
}

int64_t Sliding::InnerInLine(const Pixel& pixel) const {
  const int64_t first = pixel.x * strides[2] - before[2], wide = (taps[2] - 1) * steps[2] + 1;
  if (first < 0 || first + wide > size[2]) return 0;
  return std::min(result[2] - pixel.x, (size[2] - wide - first) / strides[2] + 1);
}

bool Sliding::HasInnerLines(const Pixel& pixel) const {
  const int64_t places[] = {pixel.z, pixel.y};
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t first = places[axis] * strides[axis] - before[axis];
    if (first < 0 || first + (taps[axis] - 1) * steps[axis] >= size[axis]) return false;
  }
  return true;
}

int64_t Sliding::OffsetOf(const Pixel& pixel) const {
  const int64_t plane = pixel.image * size[0] + pixel.z * strides[0];
  const int64_t line = plane * size[1] + pixel.y * strides[1];
  return (line * size[2] + pixel.x * strides[2]) * channels;
}

}  // namespace byoc_lab
