#ifndef ICODEC_GIF_PALETTE_H
#define ICODEC_GIF_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

/// Colours by index, for exact and for nearest matches.
typedef struct {
    uint8_t colors[256][3];
    uint32_t count; // of entries, with the transparent one
    int transparent; // its index; -1: none
    double error; // of the pixels that it was made for (icodec_gif_error)
    uint16_t slots[1024]; // index + 1 of a colour by its hash; 0: free
    // For each cube of 8 x 8 x 8 colours the entries that are the nearest of one of them, found when the first one is asked for: where
    // their number stands, less one, before them. 0: they are not there.
    uint32_t near[1 << 15];
    uint8_t lists[1 << 19];
    uint32_t listed; // bytes in use, from 1 on; 0: `near` is to be emptied
} gif_palette;

/// The weights of red, green and blue in squared distances.
enum { gif_red_weight = 3, gif_green_weight = 4, gif_blue_weight = 2 };

static inline uint32_t gif_distance(int red, int green, int blue) {
    return (uint32_t)(gif_red_weight * red * red + gif_green_weight * green * green + gif_blue_weight * blue * blue);
}

void icodec_gif_palette_clear(gif_palette *palette);

/// The index of a colour; -1 if it is not there.
int icodec_gif_palette_find(const gif_palette *palette, const uint8_t *color);

/// Appends a colour that is not there; there must be room.
void icodec_gif_palette_add(gif_palette *palette, const uint8_t *color);

/// Gives an entry to transparent pixels, unless they have one; there must be room.
void icodec_gif_palette_add_transparent(gif_palette *palette);

/// Removes the entries from an index on.
void icodec_gif_palette_shorten(gif_palette *palette, uint32_t count);

/// The index of the nearest colour, the first of several. There must be one that is not transparent.
uint32_t icodec_gif_palette_nearest(gif_palette *palette, int red, int green, int blue);

/// The bits of an index, at least 1.
uint32_t icodec_gif_palette_bits(const gif_palette *palette);

#endif
