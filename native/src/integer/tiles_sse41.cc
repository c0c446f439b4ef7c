// The kernels of tiles.h for SSE4.1: compiled with -msse4.1.
#include <smmintrin.h>

#include "integer/tiles.h"

namespace {

using Vec = __m128i;
constexpr const char* kName = "sse41";
constexpr int kLanes = 4, kRows = 3, kWidth = 16;

Vec Zero() { return _mm_setzero_si128(); }
Vec Load(const void* from) { return _mm_loadu_si128(static_cast<const Vec*>(from)); }
void Store(void* to, Vec v) { _mm_storeu_si128(static_cast<Vec*>(to), v); }
Vec Repeat(int16_t v) { return _mm_set1_epi16(v); }
Vec RepeatPair(const int16_t* pair) {
  int32_t both;
  __builtin_memcpy(&both, pair, sizeof(both));
  return _mm_set1_epi32(both);
}
Vec Add(Vec a, Vec b) { return _mm_add_epi32(a, b); }
Vec Less(Vec a, Vec b) { return _mm_sub_epi16(a, b); }
Vec Dot(Vec a, Vec b) { return _mm_madd_epi16(a, b); }
Vec Widen(const uint8_t* from) { return _mm_cvtepu8_epi16(_mm_loadl_epi64((const Vec*)from)); }
Vec Widen(const int8_t* from) { return _mm_cvtepi8_epi16(_mm_loadl_epi64((const Vec*)from)); }
Vec InterleaveLow(Vec a, Vec b) { return _mm_unpacklo_epi16(a, b); }
Vec InterleaveHigh(Vec a, Vec b) { return _mm_unpackhi_epi16(a, b); }

void StoreInterleaved(int32_t* to, Vec low, Vec high) {
  Store(to, low);
  Store(to + kLanes, high);
}

// 16 neighbours of two rows as int16, interleaved.
void StorePairs(const int8_t* first, const int8_t* second, int16_t* to) {
  for (int64_t c = 0; c < 16; c += 8) {
    Store(to + 2 * c, _mm_unpacklo_epi16(Widen(first + c), Widen(second + c)));
    Store(to + 2 * c + 8, _mm_unpackhi_epi16(Widen(first + c), Widen(second + c)));
  }
}

}  // namespace

#define KEEP_IN_REGISTER(vector) "+x"(vector)
#include "integer/tiles.inc"

const Tiles kTilesSse41 = kTiles;

}  // namespace byoc_lab
