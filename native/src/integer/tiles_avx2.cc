// The kernels of tiles.h for AVX2: compiled with -mavx2.
#include <immintrin.h>

#include "integer/tiles.h"

namespace {

using Vec = __m256i;
constexpr const char* kName = "avx2";
constexpr int kLanes = 8, kRows = 6, kWidth = 16;

Vec Zero() { return _mm256_setzero_si256(); }
Vec Load(const void* from) { return _mm256_loadu_si256(static_cast<const Vec*>(from)); }
void Store(void* to, Vec v) { _mm256_storeu_si256(static_cast<Vec*>(to), v); }
Vec Repeat(int16_t v) { return _mm256_set1_epi16(v); }
Vec RepeatPair(const int16_t* pair) {
  int32_t both;
  __builtin_memcpy(&both, pair, sizeof(both));
  return _mm256_set1_epi32(both);
}
Vec Add(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
Vec Less(Vec a, Vec b) { return _mm256_sub_epi16(a, b); }
Vec Dot(Vec a, Vec b) { return _mm256_madd_epi16(a, b); }
Vec Widen(const uint8_t* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
Vec Widen(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
// Within each 128-bit half.
Vec InterleaveLow(Vec a, Vec b) { return _mm256_unpacklo_epi16(a, b); }
Vec InterleaveHigh(Vec a, Vec b) { return _mm256_unpackhi_epi16(a, b); }

void StoreInterleaved(int32_t* to, Vec low, Vec high) {
  Store(to, _mm256_permute2x128_si256(low, high, 0x20));
  Store(to + kLanes, _mm256_permute2x128_si256(low, high, 0x31));
}

// 16 neighbours of two rows as int16, interleaved.
void StorePairs(const int8_t* first, const int8_t* second, int16_t* to) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  Store(to, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b)));
  Store(to + 2 * kLanes, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b)));
}

}  // namespace

#define KEEP_IN_REGISTER(vector) "+x"(vector)
#include "integer/tiles.inc"

const Tiles kTilesAvx2 = kTiles;

}  // namespace byoc_lab
