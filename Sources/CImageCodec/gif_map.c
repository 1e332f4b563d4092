#include "gif_map.h"

#include <string.h>

/// The order in which the pixels of a square take the farther of two colours (Bayer, 1973).
static const uint8_t thresholds[8][8] = {
    {0, 32, 8, 40, 2, 34, 10, 42},   {48, 16, 56, 24, 50, 18, 58, 26}, {12, 44, 4, 36, 14, 46, 6, 38},
    {60, 28, 52, 20, 62, 30, 54, 22}, {3, 35, 11, 43, 1, 33, 9, 41},    {51, 19, 59, 27, 49, 17, 57, 25},
    {15, 47, 7, 39, 13, 45, 5, 37},   {63, 31, 55, 23, 61, 29, 53, 21},
};

static inline int clamp(int value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

/// Chooses between the nearest colour and one on the other side of the pixel's, by its place and by how far it is from both: the same
/// pixel at the same place looks the same in every frame with the palette.
static uint32_t dithered(gif_palette *palette, const uint8_t *pixel, uint32_t x, uint32_t y) {
    uint32_t index = icodec_gif_palette_nearest(palette, pixel[0], pixel[1], pixel[2]);
    const uint8_t *near = palette->colors[index];
    int red = pixel[0] - near[0], green = pixel[1] - near[1], blue = pixel[2] - near[2];
    if (!(red | green | blue)) return index;
    uint32_t other =
        icodec_gif_palette_nearest(palette, clamp(pixel[0] + red), clamp(pixel[1] + green), clamp(pixel[2] + blue));
    const uint8_t *far = palette->colors[other];
    int span[3] = {far[0] - near[0], far[1] - near[1], far[2] - near[2]};
    int length = (int)gif_distance(span[0], span[1], span[2]);
    int along = gif_red_weight * span[0] * red + gif_green_weight * span[1] * green + gif_blue_weight * span[2] * blue;
    return 128 * along > length * (2 * thresholds[y % 8][x % 8] + 1) ? other : index;
}

/// The index of an exact match, else of the nearest colour.
static uint32_t plain(gif_palette *palette, const uint8_t *pixel) {
    int index = icodec_gif_palette_find(palette, pixel);
    return index >= 0 ? (uint32_t)index : icodec_gif_palette_nearest(palette, pixel[0], pixel[1], pixel[2]);
}

bool icodec_gif_map(
    const gif_part *part, gif_palette *palette, bool dithers, uint8_t *indices, const icodec_watch *watch,
    icodec_error *error) {
    uint32_t between = icodec_watch_step / 16 / part->width + 1, last = 0;
    int last_index = -1;
    for (uint32_t row = 0; row < part->height; row++, indices += part->width) {
        if (row % between == 0 && !icodec_watch_allows(watch, error)) return false;
        size_t offset = (size_t)(part->top + row) * part->stride + (size_t)part->left * 4;
        for (uint32_t column = 0; column < part->width; column++, offset += 4) {
            const uint8_t *pixel = part->pixels + offset;
            uint32_t color, index;
            memcpy(&color, pixel, 4);
            if (palette->transparent >= 0 && !icodec_gif_is_drawn(part, offset)) index = (uint32_t)palette->transparent;
            else if (dithers) index = dithered(palette, pixel, part->left + column, part->top + row);
            else if (last_index >= 0 && color == last) index = (uint32_t)last_index;
            else {
                index = plain(palette, pixel);
                last = color;
                last_index = (int)index;
            }
            indices[column] = (uint8_t)index;
        }
    }
    return true;
}
