#include <stdlib.h>
#include <string.h>

#include "gif_write.h"

bool icodec_gif_palettes_create(gif_palettes *all, uint32_t colors) {
    all->colors = colors;
    all->global = malloc(sizeof *all->global);
    all->local = malloc(sizeof *all->local);
    all->histogram = malloc(sizeof *all->histogram);
    if (!all->global || !all->local || !all->histogram) return false;
    icodec_gif_palette_clear(all->global);
    icodec_gif_palette_clear(all->local);
    return true;
}

void icodec_gif_palettes_destroy(gif_palettes *all) {
    free(all->global);
    free(all->local);
    free(all->histogram);
}

/// Finds out whether the palette has the colour of a pixel exactly, and appends it if there is room.
static bool takes(gif_palette *palette, uint32_t colors, const uint8_t *pixel, bool is_drawn) {
    bool has_room = palette->count < colors;
    if (!is_drawn && palette->transparent < 0 && has_room) icodec_gif_palette_add_transparent(palette);
    if (!is_drawn && palette->transparent >= 0) return true;
    // If there is no transparent entry, unchanged pixels are drawn again.
    if (!pixel[3]) return false;
    if (icodec_gif_palette_find(palette, pixel) >= 0) return true;
    if (!is_drawn || !has_room) return false;
    icodec_gif_palette_add(palette, pixel);
    return true;
}

/// Finds out whether the palette has the colours of all pixels exactly; if not, it stays as it was.
static bool fits(
    gif_palette *palette, uint32_t colors, const gif_part *part, bool *does, const icodec_watch *watch,
    icodec_error *error) {
    uint32_t before = palette->count, between = icodec_watch_step / 4 / part->width + 1, last = 0;
    int transparent = palette->transparent;
    *does = true;
    for (uint32_t row = 0; *does && row < part->height; row++) {
        if (row % between == 0 && !icodec_watch_allows(watch, error)) return false;
        size_t offset = (size_t)(part->top + row) * part->stride + (size_t)part->left * 4;
        for (size_t end = offset + (size_t)part->width * 4; *does && offset < end; offset += 4) {
            uint32_t color;
            memcpy(&color, part->pixels + offset, 4);
            bool is_drawn = icodec_gif_is_drawn(part, offset);
            // No pixel that is drawn is zero.
            if (is_drawn && color == last) continue;
            *does = takes(palette, colors, part->pixels + offset, is_drawn);
            if (is_drawn) last = color;
        }
    }
    if (*does || palette->count == before) return true;
    icodec_gif_palette_shorten(palette, before);
    palette->transparent = transparent;
    return true;
}

/// Counts the colours that are drawn.
static bool count_colors(
    gif_histogram *histogram, const gif_part *part, const icodec_watch *watch, icodec_error *error) {
    icodec_gif_histogram_clear(histogram);
    uint32_t between = icodec_watch_step / 4 / part->width + 1;
    for (uint32_t row = 0; row < part->height; row++) {
        if (row % between == 0 && !icodec_watch_allows(watch, error)) return false;
        size_t offset = (size_t)(part->top + row) * part->stride + (size_t)part->left * 4;
        for (size_t end = offset + (size_t)part->width * 4; offset < end; offset += 4)
            if (icodec_gif_is_drawn(part, offset)) icodec_gif_histogram_add(histogram, part->pixels + offset);
    }
    icodec_gif_histogram_settle(histogram);
    return true;
}

/// Finds out whether a palette serves the counted colours nearly as well as those that it was made for.
static bool serves(
    gif_palettes *all, gif_palette *palette, bool *does, const icodec_watch *watch, icodec_error *error) {
    double mean = 0;
    *does = palette->transparent >= 0 && palette->count > 1;
    if (*does && !icodec_gif_error(palette, all->histogram, watch, &mean, error)) return false;
    *does = *does && mean <= palette->error * 1.25 + 4;
    return true;
}

bool icodec_gif_choose(
    gif_palettes *all, const gif_part *part, bool is_animated, gif_choice *choice, const icodec_watch *watch,
    icodec_error *error) {
    gif_palette *global = all->global, *local = all->local;
    *choice = (gif_choice){global, false};
    if (!fits(global, all->colors, part, &choice->is_exact, watch, error)) return false;
    if (choice->is_exact) return true;
    if (!count_colors(all->histogram, part, watch, error)) return false;
    gif_palette *candidates[2] = {all->is_local_last ? local : global, all->is_local_last ? global : local};
    for (int number = 0; number < 2; number++) {
        bool does = false;
        if (!serves(all, candidates[number], &does, watch, error)) return false;
        if (!does) continue;
        choice->palette = candidates[number];
        all->is_local_last = choice->palette == local;
        return true;
    }
    all->is_local_last = global->count > 0;
    choice->palette = all->is_local_last ? local : global;
    icodec_gif_palette_clear(choice->palette);
    // Later frames need transparent pixels where they change nothing.
    bool is_transparent = is_animated || all->histogram->pixels < (uint64_t)part->width * part->height;
    uint32_t colors = all->colors - is_transparent;
    if (is_transparent) icodec_gif_palette_add_transparent(choice->palette);
    choice->is_exact = icodec_gif_is_exact(all->histogram, colors);
    return icodec_gif_quantize(all->histogram, colors, choice->palette, watch, error);
}
