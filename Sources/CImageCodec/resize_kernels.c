#include <stddef.h>
#include <string.h>

#include "resize_internal.h"

// Written once with the compiler's vectors of 8 floats (two pixels) and compiled twice: for the processor that the package is
// built for at least, and for one with AVX2 and FMA, chosen at run time.

typedef float floats8 __attribute__((vector_size(32), aligned(4)));
typedef float floats4 __attribute__((vector_size(16), aligned(4)));
typedef int32_t ints8 __attribute__((vector_size(32)));
typedef uint8_t bytes8 __attribute__((vector_size(8), aligned(1)));

#define INLINE static inline __attribute__((always_inline))

INLINE void widen(const uint8_t *row, float *to, uint32_t pixels) {
    uint32_t count = pixels * 4, index = 0;
    for (; index + 8 <= count; index += 8) {
        ints8 values = __builtin_convertvector(*(const bytes8 *)(row + index), ints8);
        *(floats8 *)(to + index) = __builtin_convertvector(values, floats8);
    }
    for (; index < count; index++) to[index] = row[index];
}

INLINE void premultiply(const uint8_t *row, float *to, uint32_t pixels) {
    const floats8 full = (floats8){0} + 255;
    uint32_t count = pixels * 4, index = 0;
    for (; index + 8 <= count; index += 8) {
        ints8 values = __builtin_convertvector(*(const bytes8 *)(row + index), ints8);
        floats8 pair = __builtin_convertvector(values, floats8);
        floats8 alpha = __builtin_shufflevector(pair, pair, 3, 3, 3, 3, 7, 7, 7, 7) * (1.0f / 255);
        *(floats8 *)(to + index) = __builtin_shufflevector(pair, full, 0, 1, 2, 8, 4, 5, 6, 8) * alpha;
    }
    for (; index < count; index += 4) {
        floats4 pixel = {row[index], row[index + 1], row[index + 2], 255};
        *(floats4 *)(to + index) = pixel * (row[index + 3] * (1.0f / 255));
    }
}

/// Stores the sum of a vector's two pixels.
INLINE void fold(const floats8 *pair, float *to) {
    floats4 low = __builtin_shufflevector(*pair, *pair, 0, 1, 2, 3);
    floats4 high = __builtin_shufflevector(*pair, *pair, 4, 5, 6, 7);
    *(floats4 *)to = low + high;
}

INLINE void filter(
    const float *row, const icodec_span *spans, const float *weights, uint32_t stride, float *to, uint32_t pixels) {
    for (uint32_t index = 0; index < pixels; index++, weights += (size_t)stride * 4, to += 4) {
        const float *source = row + (size_t)spans[index].start * 4;
        // Whole pairs: the weight after an odd span is 0, and the row has a pixel to spare.
        uint32_t floats = (spans[index].count + 1) / 2 * 8, tap = 0;
        floats8 first = {0}, second = {0};
        for (; tap + 16 <= floats; tap += 16) {
            first += *(const floats8 *)(source + tap) * *(const floats8 *)(weights + tap);
            second += *(const floats8 *)(source + tap + 8) * *(const floats8 *)(weights + tap + 8);
        }
        if (tap < floats) first += *(const floats8 *)(source + tap) * *(const floats8 *)(weights + tap);
        first += second;
        fold(&first, to);
    }
}

/// The same sums for two rows, with each weight loaded once.
INLINE void filter_pair(
    const float *row, const float *next, const icodec_span *spans, const float *weights, uint32_t stride, float *to,
    float *to_next, uint32_t pixels) {
    for (uint32_t index = 0; index < pixels; index++, weights += (size_t)stride * 4, to += 4, to_next += 4) {
        const float *source = row + (size_t)spans[index].start * 4, *below = next + (size_t)spans[index].start * 4;
        uint32_t floats = (spans[index].count + 1) / 2 * 8, tap = 0;
        floats8 first = {0}, second = {0}, first_below = {0}, second_below = {0};
        for (; tap + 16 <= floats; tap += 16) {
            floats8 weight = *(const floats8 *)(weights + tap), after = *(const floats8 *)(weights + tap + 8);
            first += *(const floats8 *)(source + tap) * weight;
            second += *(const floats8 *)(source + tap + 8) * after;
            first_below += *(const floats8 *)(below + tap) * weight;
            second_below += *(const floats8 *)(below + tap + 8) * after;
        }
        if (tap < floats) {
            floats8 weight = *(const floats8 *)(weights + tap);
            first += *(const floats8 *)(source + tap) * weight;
            first_below += *(const floats8 *)(below + tap) * weight;
        }
        first += second;
        first_below += second_below;
        fold(&first, to);
        fold(&first_below, to_next);
    }
}

INLINE void accumulate(float *sum, const float *row, float weight, uint32_t floats) {
    uint32_t index = 0;
    for (; index + 8 <= floats; index += 8)
        *(floats8 *)(sum + index) += *(const floats8 *)(row + index) * weight;
    for (; index < floats; index++) sum[index] += row[index] * weight;
}

/// As accumulate for one row and then for the next.
INLINE void accumulate_pair(
    float *sum, const float *row, float weight, const float *next, float weight_of_next, uint32_t floats) {
    uint32_t index = 0;
    for (; index + 8 <= floats; index += 8) {
        floats8 both = *(const floats8 *)(sum + index) + *(const floats8 *)(row + index) * weight;
        *(floats8 *)(sum + index) = both + *(const floats8 *)(next + index) * weight_of_next;
    }
    for (; index < floats; index++) {
        float both = sum[index] + row[index] * weight;
        sum[index] = both + next[index] * weight_of_next;
    }
}

INLINE void narrow(const float *sum, uint8_t *to, uint32_t pixels) {
    uint32_t count = pixels * 4, index = 0;
    for (; index + 8 <= count; index += 8) {
        floats8 values = *(const floats8 *)(sum + index) + 0.5f;
        ints8 whole = __builtin_convertvector(values, ints8);
        whole = __builtin_elementwise_min(__builtin_elementwise_max(whole, (ints8){0}), (ints8){0} + 255);
        *(bytes8 *)(to + index) = __builtin_convertvector(whole, bytes8);
    }
    for (; index < count; index++) {
        float value = sum[index] + 0.5f;
        to[index] = value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)value;
    }
}

#define KERNELS(suffix, attribute)                                                                                     \
    attribute static void widen_##suffix(const uint8_t *row, float *to, uint32_t pixels) { widen(row, to, pixels); }  \
    attribute static void premultiply_##suffix(const uint8_t *row, float *to, uint32_t pixels) {                       \
        premultiply(row, to, pixels);                                                                                  \
    }                                                                                                                  \
    attribute static void filter_##suffix(                                                                             \
        const float *row, const icodec_span *spans, const float *weights, uint32_t stride, float *to,                  \
        uint32_t pixels) {                                                                                             \
        filter(row, spans, weights, stride, to, pixels);                                                               \
    }                                                                                                                  \
    attribute static void accumulate_##suffix(float *sum, const float *row, float weight, uint32_t floats) {           \
        accumulate(sum, row, weight, floats);                                                                          \
    }                                                                                                                  \
    attribute static void filter_pair_##suffix(                                                                        \
        const float *row, const float *next, const icodec_span *spans, const float *weights, uint32_t stride,          \
        float *to, float *to_next, uint32_t pixels) {                                                                  \
        filter_pair(row, next, spans, weights, stride, to, to_next, pixels);                                           \
    }                                                                                                                  \
    attribute static void accumulate_pair_##suffix(                                                                    \
        float *sum, const float *row, float weight, const float *next, float weight_of_next, uint32_t floats) {        \
        accumulate_pair(sum, row, weight, next, weight_of_next, floats);                                               \
    }                                                                                                                  \
    attribute static void narrow_##suffix(const float *sum, uint8_t *to, uint32_t pixels) {                            \
        narrow(sum, to, pixels);                                                                                       \
    }                                                                                                                  \
    static const icodec_kernels kernels_##suffix = {                                                                   \
        widen_##suffix,      premultiply_##suffix,     filter_##suffix, filter_pair_##suffix,                          \
        accumulate_##suffix, accumulate_pair_##suffix, narrow_##suffix};

KERNELS(plain, )

#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2,fma"))))
#endif

const icodec_kernels *icodec_kernels_best(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kernels_avx2;
#endif
    return &kernels_plain;
}
