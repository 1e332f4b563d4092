#ifndef ICODEC_GIF_MAP_H
#define ICODEC_GIF_MAP_H

#include "gif_palette.h"
#include "internal.h"

/// A part of a frame: R, G, B, A rows in which alpha is 0 or 255, and transparent pixels are all zeros.
typedef struct {
    const uint8_t *pixels;
    const uint8_t *canvas; // what stands there already, and is not drawn again; NULL: it is transparent
    size_t stride; // of both
    uint32_t left, top, width, height;
} gif_part;

/// Returns true if a pixel must be drawn.
static inline bool icodec_gif_is_drawn(const gif_part *part, size_t offset) {
    static const uint8_t transparent[4];
    return __builtin_memcmp(part->pixels + offset, part->canvas ? part->canvas + offset : transparent, 4) != 0;
}

/// Writes the index of each pixel of the part: the nearest colour's, or with `dithers` one of two between which it lies.
bool icodec_gif_map(
    const gif_part *part, gif_palette *palette, bool dithers, uint8_t *indices, const icodec_watch *watch,
    icodec_error *error);

#endif
