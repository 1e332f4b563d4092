#include "icodec_pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

bool icodec_orient(
    const uint8_t *from, size_t from_stride, uint32_t width, uint32_t height, int orientation, uint8_t *to,
    size_t to_stride, const icodec_watch *watch, icodec_error *error) {
    bool transposes = orientation >= 5;
    uint32_t columns = transposes ? height : width, rows = transposes ? width : height;
    // Tiles, so that a transposition reads and writes each cache line a few times only.
    enum { tile = 32 };
    size_t done = 0;
    for (uint32_t top = 0; top < rows; top += tile) {
        done += (size_t)tile * columns;
        if (done >= icodec_watch_step) {
            done = 0;
            if (!icodec_watch_allows(watch, error)) return false;
        }
        for (uint32_t left = 0; left < columns; left += tile)
            for (uint32_t y = top; y < rows && y < top + tile; y++)
                for (uint32_t x = left; x < columns && x < left + tile; x++) {
                    uint32_t column = x, row = y;
                    switch (orientation) {
                    case 2: column = width - 1 - x; break;
                    case 3: column = width - 1 - x, row = height - 1 - y; break;
                    case 4: row = height - 1 - y; break;
                    case 5: column = y, row = x; break;
                    case 6: column = y, row = height - 1 - x; break;
                    case 7: column = width - 1 - y, row = height - 1 - x; break;
                    case 8: column = width - 1 - y, row = x; break;
                    default: break;
                    }
                    memcpy(to + to_stride * y + (size_t)x * 4, from + from_stride * row + (size_t)column * 4, 4);
                }
    }
    return true;
}

// Four pixels at a time, as bytes of one vector; the compiler has a shuffle for it from SSSE3 on.

typedef uint8_t bytes16 __attribute__((vector_size(16), aligned(1)));

#define INLINE static inline __attribute__((always_inline))

INLINE void without_alpha(const uint8_t *from, uint8_t *to, size_t count) {
    size_t index = 0;
    // Writes 16 bytes of which 12 are meant: the next ones overwrite the rest.
    for (; index + 6 <= count; index += 4) {
        bytes16 pixels = *(const bytes16 *)(from + index * 4);
        *(bytes16 *)(to + index * 3) =
            __builtin_shufflevector(pixels, pixels, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    }
    for (; index < count; index++) memcpy(to + index * 3, from + index * 4, 3);
}

INLINE void with_alpha(const uint8_t *from, uint8_t *to, size_t count) {
    size_t index = 0;
    bytes16 opaque = {0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255}, zero = {0};
    // Reads 16 bytes of which 12 are meant.
    for (; index + 6 <= count; index += 4) {
        bytes16 pixels = *(const bytes16 *)(from + index * 3);
        *(bytes16 *)(to + index * 4) =
            __builtin_shufflevector(pixels, zero, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16) | opaque;
    }
    for (; index < count; index++) {
        memcpy(to + index * 4, from + index * 3, 3);
        to[index * 4 + 3] = 255;
    }
}

#if defined(__x86_64__)
__attribute__((target("ssse3"))) static void without_alpha_ssse3(const uint8_t *from, uint8_t *to, size_t count) {
    without_alpha(from, to, count);
}

__attribute__((target("ssse3"))) static void with_alpha_ssse3(const uint8_t *from, uint8_t *to, size_t count) {
    with_alpha(from, to, count);
}
#endif

void icodec_without_alpha(const uint8_t *from, uint8_t *to, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("ssse3")) {
        without_alpha_ssse3(from, to, count);
        return;
    }
#endif
    without_alpha(from, to, count);
}

void icodec_with_alpha(const uint8_t *from, uint8_t *to, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("ssse3")) {
        with_alpha_ssse3(from, to, count);
        return;
    }
#endif
    with_alpha(from, to, count);
}

bool icodec_is_opaque(const uint8_t *pixels, size_t count) {
    uint8_t all = 255;
    for (size_t index = 0; index < count; index++) {
        all &= pixels[index * 4 + 3];
        if ((index & 1023) == 1023 && all != 255) return false;
    }
    return all == 255;
}

bool icodec_is_gray(const uint8_t *pixels, size_t count) {
    for (size_t index = 0; index < count; index++, pixels += 4)
        if (pixels[0] != pixels[1] || pixels[1] != pixels[2]) return false;
    return true;
}

static uint8_t mix(unsigned colour, unsigned background, unsigned alpha) {
    unsigned sum = colour * alpha + background * (255 - alpha) + 128;
    return (uint8_t)((sum + (sum >> 8)) >> 8);
}

void icodec_flatten(const uint8_t *from, uint8_t *to, size_t count, uint8_t red, uint8_t green, uint8_t blue) {
    for (size_t index = 0; index < count; index++, from += 4, to += 4) {
        unsigned alpha = from[3];
        to[0] = mix(from[0], red, alpha);
        to[1] = mix(from[1], green, alpha);
        to[2] = mix(from[2], blue, alpha);
        to[3] = 255;
    }
}

static uint8_t clamped(int32_t value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

void icodec_adjust(const uint8_t *from, uint8_t *to, size_t count, const uint8_t *table, double saturation) {
    int32_t factor = (int32_t)(saturation * 65536 + 0.5);
    for (size_t index = 0; index < count; index++, from += 4, to += 4) {
        int32_t red = table[from[0]], green = table[from[1]], blue = table[from[2]];
        if (factor != 65536) {
            int32_t luma = (red * 13933 + green * 46871 + blue * 4732 + 32768) >> 16;
            red = luma + (int32_t)(((int64_t)(red - luma) * factor + 32768) >> 16);
            green = luma + (int32_t)(((int64_t)(green - luma) * factor + 32768) >> 16);
            blue = luma + (int32_t)(((int64_t)(blue - luma) * factor + 32768) >> 16);
        }
        to[0] = clamped(red);
        to[1] = clamped(green);
        to[2] = clamped(blue);
        to[3] = from[3];
    }
}

void icodec_sharpen(const uint8_t *from, const uint8_t *soft, uint8_t *to, size_t count, double amount) {
    int32_t factor = (int32_t)(amount * 65536 + 0.5);
    for (size_t index = 0; index < count; index++, from += 4, soft += 4, to += 4) {
        for (int channel = 0; channel < 3; channel++) {
            int32_t detail = (int32_t)from[channel] - soft[channel];
            to[channel] = clamped(from[channel] + (int32_t)(((int64_t)detail * factor + 32768) >> 16));
        }
        to[3] = from[3];
    }
}

bool icodec_index_pixels(
    const uint8_t *pixels, size_t count, uint8_t *palette, uint8_t *indices, uint32_t *colors, const icodec_watch *watch,
    icodec_error *error) {
    enum { slots = 1024 };
    uint32_t keys[slots];
    int16_t values[slots];
    memset(values, -1, sizeof values);
    uint32_t found = 0, last = 0;
    int16_t last_value = -1;
    *colors = 0;
    for (size_t index = 0; index < count; index++) {
        if (index % icodec_watch_step == 0 && !icodec_watch_allows(watch, error)) return false;
        uint32_t pixel;
        memcpy(&pixel, pixels + index * 4, 4);
        if (last_value < 0 || pixel != last) {
            uint32_t slot = (pixel * 2654435761u) >> 22;
            while (values[slot] >= 0 && keys[slot] != pixel) slot = (slot + 1) % slots;
            if (values[slot] < 0) {
                if (found == 256) return true;
                keys[slot] = pixel;
                values[slot] = (int16_t)found;
                memcpy(palette + (size_t)found * 4, &pixel, 4);
                found++;
            }
            last = pixel;
            last_value = values[slot];
        }
        indices[index] = (uint8_t)last_value;
    }
    *colors = found;
    return true;
}
