#include "gif_palette.h"

#include <string.h>

void icodec_gif_palette_clear(gif_palette *palette) {
    palette->count = 0;
    palette->transparent = -1;
    palette->error = 0;
    memset(palette->slots, 0, sizeof palette->slots);
    palette->listed = 0;
}

/// The slot of a colour, or the free one in which it would stand.
static uint32_t slot(const gif_palette *palette, const uint8_t *color) {
    uint32_t key = color[0] | (uint32_t)color[1] << 8 | (uint32_t)color[2] << 16;
    uint32_t slot = key * 2654435761u >> 22;
    while (palette->slots[slot] && memcmp(palette->colors[palette->slots[slot] - 1], color, 3) != 0)
        slot = (slot + 1) % 1024;
    return slot;
}

int icodec_gif_palette_find(const gif_palette *palette, const uint8_t *color) {
    return palette->slots[slot(palette, color)] - 1;
}

void icodec_gif_palette_add(gif_palette *palette, const uint8_t *color) {
    palette->slots[slot(palette, color)] = (uint16_t)(palette->count + 1);
    memcpy(palette->colors[palette->count++], color, 3);
    palette->listed = 0;
}

void icodec_gif_palette_add_transparent(gif_palette *palette) {
    if (palette->transparent >= 0) return;
    palette->transparent = (int)palette->count;
    memset(palette->colors[palette->count++], 0, 3);
}

void icodec_gif_palette_shorten(gif_palette *palette, uint32_t count) {
    palette->count = count;
    if (palette->transparent >= (int)count) palette->transparent = -1;
    memset(palette->slots, 0, sizeof palette->slots);
    palette->listed = 0;
    for (uint32_t index = 0; index < count; index++)
        if ((int)index != palette->transparent)
            palette->slots[slot(palette, palette->colors[index])] = (uint16_t)(index + 1);
}

/// The least and the greatest distance on one axis between a colour's value and those from `low` to `low + 7`.
static inline void span(int value, int low, int *least, int *greatest) {
    int below = low - value, above = value - (low + 7);
    *least = below > 0 ? below : above > 0 ? above : 0;
    *greatest = below > above ? below + 7 : above + 7;
}

static void list_near(gif_palette *palette, uint32_t cube) {
    if (!palette->listed || palette->listed + 257 > sizeof palette->lists) {
        memset(palette->near, 0, sizeof palette->near);
        palette->listed = 1;
    }
    int low[3] = {(int)(cube >> 10) * 8, (int)(cube >> 5 & 31) * 8, (int)(cube & 31) * 8};
    uint32_t least[256], bound = UINT32_MAX;
    for (uint32_t index = 0; index < palette->count; index++) {
        int near[3], far[3];
        for (int axis = 0; axis < 3; axis++) span(palette->colors[index][axis], low[axis], &near[axis], &far[axis]);
        least[index] = (int)index == palette->transparent ? UINT32_MAX : gif_distance(near[0], near[1], near[2]);
        uint32_t greatest = gif_distance(far[0], far[1], far[2]);
        if (greatest < bound && (int)index != palette->transparent) bound = greatest;
    }
    palette->near[cube] = palette->listed;
    uint8_t *list = palette->lists + palette->listed, *end = list;
    for (uint32_t index = 0; index < palette->count; index++)
        if (least[index] <= bound && (int)index != palette->transparent) *++end = (uint8_t)index;
    *list = (uint8_t)(end - list - 1);
    palette->listed += (uint32_t)(end - list) + 1;
}

uint32_t icodec_gif_palette_nearest(gif_palette *palette, int red, int green, int blue) {
    uint32_t cube = (uint32_t)(red >> 3 << 10 | green >> 3 << 5 | blue >> 3);
    if (!palette->listed || !palette->near[cube]) list_near(palette, cube);
    const uint8_t *list = palette->lists + palette->near[cube];
    uint32_t nearest = 0, least = UINT32_MAX;
    for (int number = *list; number >= 0; number--) {
        uint32_t index = *++list;
        const uint8_t *color = palette->colors[index];
        uint32_t distance = gif_distance(red - color[0], green - color[1], blue - color[2]);
        if (distance >= least) continue;
        least = distance;
        nearest = index;
    }
    return nearest;
}

uint32_t icodec_gif_palette_bits(const gif_palette *palette) {
    uint32_t bits = 1;
    while (1u << bits < palette->count) bits++;
    return bits;
}
