#include <stdlib.h>
#include <string.h>

#include "gif_internal.h"

void icodec_gif_describe(const icodec_gif *gif, icodec_description *description) {
    const gif_frame *frame = &gif->frame;
    memset(description, 0, sizeof *description);
    description->width = gif->width;
    description->height = gif->height;
    description->components = 1;
    description->bit_depth = 8;
    description->frames = 1;
    description->loops = gif->loops;
    description->milliseconds = icodec_gif_milliseconds(frame);
    description->interlaced = frame->is_interlaced;
    description->fills_canvas = frame->width == gif->width && frame->height == gif->height;
    description->has_alpha = frame->is_transparent || !description->fills_canvas;
    description->says_srgb = true;
}

icodec_error icodec_gif_damage(const icodec_gif *gif) { return gif->damage; }

bool icodec_gif_pass_over(icodec_gif *gif, icodec_error *error) {
    bool is_defect = error->code == ICODEC_TRUNCATED || error->code == ICODEC_CORRUPT;
    if (!gif->limits.allow_truncated || !is_defect) return false;
    gif->damage = *error;
    return true;
}

/// Reads the indices of all rows of an interlaced frame.
static bool read_interlaced(icodec_gif *gif, icodec_error *error) {
    const gif_frame *frame = &gif->frame;
    gif->indices = malloc((size_t)frame->height * frame->width);
    gif->are_read = calloc(frame->height, 1);
    if (!gif->indices || !gif->are_read) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    uint32_t between = icodec_watch_step / frame->width + 1;
    for (uint32_t number = 0; number < frame->height; number++) {
        if (number % between == 0 && !icodec_watch_allows(&gif->watch, error)) return false;
        uint32_t row = icodec_gif_row_position(frame, number);
        const uint8_t *indices = icodec_gif_read_row(gif, error);
        if (!indices) return icodec_gif_pass_over(gif, error);
        memcpy(gif->indices + (size_t)row * frame->width, indices, frame->width);
        gif->are_read[row] = 1;
    }
    return true;
}


bool icodec_gif_rows(
    icodec_gif *gif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    const gif_frame *frame = &gif->frame;
    *got = 0;
    if (frame->is_interlaced && !gif->indices && !read_interlaced(gif, error)) return false;
    if (gif->damage.code && !frame->is_interlaced) return true;
    uint32_t between = icodec_watch_step / gif->width + 1;
    for (; *got < count && gif->row < gif->height; *got += 1, gif->row++) {
        if (gif->row % between == 0 && !icodec_watch_allows(&gif->watch, error)) return false;
        uint8_t *out = rows + *got * stride;
        memset(out, 0, (size_t)gif->width * 4);
        if (gif->row < frame->top || gif->row - frame->top >= frame->height) continue;
        uint32_t row = gif->row - frame->top;
        const uint8_t *indices;
        if (frame->is_interlaced) {
            if (!gif->are_read[row]) continue;
            indices = gif->indices + (size_t)row * frame->width;
        } else if (!(indices = icodec_gif_read_row(gif, error))) {
            return icodec_gif_pass_over(gif, error);
        }
        icodec_gif_paint(frame, indices, frame->width, out + (size_t)frame->left * 4);
    }
    return true;
}
