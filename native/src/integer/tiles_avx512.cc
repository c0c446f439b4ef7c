// The kernels of tiles.h for AVX-512 (F and BW): compiled with -mavx512bw.
#include <immintrin.h>

#include "integer/tiles.h"

namespace {

using Vec = __m512i;
constexpr const char* kName = "avx512";
constexpr int kLanes = 16, kRows = 12, kWidth = 32;

Vec Zero() { return _mm512_setzero_si512(); }
Vec Load(const void* from) { return _mm512_loadu_si512(from); }
void Store(void* to, Vec v) { _mm512_storeu_si512(to, v); }
Vec Repeat(int16_t v) { return _mm512_set1_epi16(v); }
Vec RepeatPair(const int16_t* pair) {
  int32_t both;
  __builtin_memcpy(&both, pair, sizeof(both));
  return _mm512_set1_epi32(both);
}
Vec Add(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
Vec Less(Vec a, Vec b) { return _mm512_sub_epi16(a, b); }
Vec Dot(Vec a, Vec b) { return _mm512_madd_epi16(a, b); }
Vec Widen(const uint8_t* from) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
Vec Widen(const int8_t* from) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
// Within each 128-bit quarter.
Vec InterleaveLow(Vec a, Vec b) { return _mm512_unpacklo_epi16(a, b); }
Vec InterleaveHigh(Vec a, Vec b) { return _mm512_unpackhi_epi16(a, b); }

void StoreInterleaved(int32_t* to, Vec low, Vec high) {
  // The quarters in order: those of `low` have the numbers 0 to 3, those of `high` 4 to 7.
  const Vec front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const Vec back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  Store(to, _mm512_permutex2var_epi64(low, front, high));
  Store(to + kLanes, _mm512_permutex2var_epi64(low, back, high));
}

// 16 neighbours of two rows as int16, interleaved.
void StorePairs(const int8_t* first, const int8_t* second, int16_t* to) {
  static const int16_t kInTurn[] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m256i both = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), 1);
  Store(to, _mm512_permutexvar_epi16(Load(kInTurn), _mm512_cvtepi8_epi16(both)));
}

}  // namespace

#define KEEP_IN_REGISTER(vector) "+v"(vector)
#include "integer/tiles.inc"

const Tiles kTilesAvx512 = kTiles;

}  // namespace byoc_lab
