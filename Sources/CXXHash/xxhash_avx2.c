#if defined(__x86_64__)
// Headers that must not be compiled for AVX2.
#include <assert.h>
#include <immintrin.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define XXH_VECTOR XXH_AVX2
#define XXH_INLINE_ALL
#include <xxhash.h>

XXH128_hash_t cxxhash_128bits_avx2(const void *bytes, size_t count);

XXH128_hash_t cxxhash_128bits_avx2(const void *bytes, size_t count) { return XXH3_128bits(bytes, count); }
#pragma clang attribute pop
#endif
