// A convolution's window as it slides over data with channels last.
#ifndef BYOC_LAB_SLIDING_H_
#define BYOC_LAB_SLIDING_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace byoc_lab {

// Always three spatial axes; missing ones have size 1.
struct Sliding {
  int64_t channels, group_channels;
  std::vector<int64_t> size, result, taps, strides, steps, before;  // steps: the dilation

  // A pixel of the result: its image, and its position along the three spatial axes.
  struct Pixel {
    int64_t image, z, y, x;
  };
  Pixel PixelOf(int64_t row) const;
  // The number of pixels from this one to the end of its line whose taps are all inside the data's
  // lines.
  int64_t InnerInLine(const Pixel& pixel) const;
  // Whether the lines of a pixel's taps are inside the data.
  bool HasInnerLines(const Pixel& pixel) const;
  // The offset of a pixel's taps relative to those of the first pixel, in elements.
  int64_t OffsetOf(const Pixel& pixel) const;

  // Calls each(offset, first, length, begin, end) for the parts of the row that belongs to a pixel
  // of the result: elements [first, first + length) of the row are at `offset` of the data. Only
  // [begin, end) of them is inside the data; the others are padding.
  template <typename Each>
  void ForEachPart(const Pixel& pixel, const Each& each) const;
};

// ---- implementation of the template

template <typename Each>
void Sliding::ForEachPart(const Pixel& pixel, const Each& each) const {
  const int64_t x = pixel.x * strides[2] - before[2];
  const int64_t y = pixel.y * strides[1] - before[1];
  const int64_t z = pixel.z * strides[0] - before[0];
  // Neighbouring taps are one part if they are contiguous.
  const bool together = group_channels == channels && steps[2] == 1;
  const int64_t parts = together ? 1 : taps[2], wide = together ? taps[2] : 1;
  const int64_t length = wide * group_channels;
  int64_t first = 0;
  for (int64_t d = 0; d < taps[0]; ++d) {
    const int64_t at_z = z + d * steps[0];
    for (int64_t h = 0; h < taps[1]; ++h) {
      const int64_t at_y = y + h * steps[1];
      const bool inside = 0 <= at_z && at_z < size[0] && 0 <= at_y && at_y < size[1];
      for (int64_t w = 0; w < parts; ++w, first += length) {
        const int64_t at_x = x + w * steps[2];
        const int64_t offset = (((pixel.image * size[0] + at_z) * size[1] + at_y) * size[2] + at_x) * channels;
        const int64_t begin = std::clamp<int64_t>(-at_x, 0, wide);
        const int64_t end = inside ? std::clamp<int64_t>(size[2] - at_x, begin, wide) : begin;
        each(offset, first, length, begin * group_channels, end * group_channels);
      }
    }
  }
}

}  // namespace byoc_lab

#endif  // BYOC_LAB_SLIDING_H_
