#include <stdlib.h>
#include <string.h>

#include "gif_internal.h"

/// A part of the canvas.
typedef struct {
    uint32_t left, top, right, bottom;
} area;

/// The part of the canvas that a frame covers; empty where it lies outside.
static area covered(const icodec_gif *gif) {
    const gif_frame *frame = &gif->frame;
    area part = {frame->left, frame->top, frame->left + frame->width, frame->top + frame->height};
    if (part.right > gif->width) part.right = gif->width;
    if (part.bottom > gif->height) part.bottom = gif->height;
    if (part.left > part.right) part.left = part.right;
    return part;
}

/// Copies a part of one canvas to another of the same size; clears it where `from` is NULL.
static void copy(const icodec_gif *gif, area part, uint8_t *to, const uint8_t *from) {
    size_t count = (size_t)(part.right - part.left) * 4;
    for (uint32_t row = part.top; row < part.bottom; row++) {
        size_t at = ((size_t)row * gif->width + part.left) * 4;
        if (from) memcpy(to + at, from + at, count);
        else memset(to + at, 0, count);
    }
}

void icodec_gif_paint(const gif_frame *frame, const uint8_t *indices, uint32_t count, uint8_t *restrict to) {
    const uint8_t(*colors)[4] = frame->colors;
    if (!frame->is_transparent) {
        for (uint32_t column = 0; column < count; column++, to += 4) memcpy(to, colors[indices[column]], 4);
        return;
    }
    for (uint32_t column = 0; column < count; column++, to += 4) {
        const uint8_t *color = colors[indices[column]];
        if (color[3]) memcpy(to, color, 4);
    }
}

/// Draws the frame whose header was read: pixels that are transparent leave the canvas as it is.
static bool draw(icodec_gif *gif, uint8_t *canvas, icodec_error *error) {
    const gif_frame *frame = &gif->frame;
    area part = covered(gif);
    uint32_t between = icodec_watch_step / (frame->width + 1) + 1;
    for (uint32_t number = 0; number < frame->height; number++) {
        if (number % between == 0 && !icodec_watch_allows(&gif->watch, error)) return false;
        const uint8_t *indices = icodec_gif_read_row(gif, error);
        if (!indices) return false;
        uint32_t row = frame->top + icodec_gif_row_position(frame, number);
        if (row >= part.bottom) continue;
        icodec_gif_paint(frame, indices, part.right - part.left, canvas + ((size_t)row * gif->width + part.left) * 4);
    }
    bool is_whole = part.right - part.left == gif->width && part.bottom - part.top == gif->height;
    if (is_whole && !frame->is_transparent) gif->is_opaque = true;
    return true;
}

/// Disposes of the frame that is on the canvas, and reads the header of the next one: as `icodec_gif_next_header`.
static int advance(icodec_gif *gif, uint8_t *canvas, icodec_error *error) {
    if (gif->is_restored) {
        copy(gif, covered(gif), canvas, gif->saved);
        gif->is_opaque = gif->was_opaque;
    } else if (gif->frame.disposal == DISPOSE_BACKGROUND) {
        copy(gif, covered(gif), canvas, NULL);
        gif->is_opaque = false;
    }
    return icodec_gif_next_header(gif, error);
}

/// Draws the frame whose header was read.
static bool show(icodec_gif *gif, uint8_t *canvas, icodec_error *error) {
    const gif_frame *frame = &gif->frame;
    gif->was_opaque = gif->is_opaque;
    gif->is_restored = frame->disposal == DISPOSE_PREVIOUS;
    if (gif->is_restored) {
        if (!gif->saved && !(gif->saved = malloc((size_t)gif->width * gif->height * 4)))
            return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        copy(gif, covered(gif), gif->saved, canvas);
    }
    if (!frame->width || !frame->height) return icodec_gif_skip_pixels(gif, error);
    // One may be larger than the canvas, and all of it is decoded.
    return icodec_check_size(&gif->limits, frame->width, frame->height, error) && draw(gif, canvas, error);
}

bool icodec_gif_draw_next(icodec_gif *gif, uint8_t *canvas, icodec_gif_shown *shown, icodec_error *error) {
    shown->is_there = false;
    if (gif->damage.code) return true;
    if (gif->drawn) {
        int next = advance(gif, canvas, error);
        if (next != gif_found) return next == gif_end;
    }
    gif->drawn++;
    if (!show(gif, canvas, error) && !icodec_gif_pass_over(gif, error)) return false;
    *shown = (icodec_gif_shown){true, gif->is_opaque, icodec_gif_milliseconds(&gif->frame)};
    return true;
}
