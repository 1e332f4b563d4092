#include <stdlib.h>
#include <string.h>

#include "gif_write.h"

struct icodec_gif_animator {
    uint32_t width, height, loops;
    gif_writer writer;
    uint32_t written; // frames
    // The canvas of a reader, a frame that is not written yet, and the next one: R, G, B, A, in which alpha is 0 or 255 and transparent
    // pixels are all zeros. The canvas has the colours that the frames had before they had a palette; NULL: it is transparent.
    uint8_t *canvas, *pending, *next;
    bool has_pending;
    uint64_t milliseconds; // of the pending frame
    int64_t rest; // milliseconds that frames' times still lack
};

/// A part of the canvas; nothing if `left` is not less than `right`.
typedef struct area {
    uint32_t left, top, right, bottom;
} area;

static const area nothing = {UINT32_MAX, UINT32_MAX, 0, 0};

icodec_gif_animator *icodec_gif_animator_create(
    uint32_t width, uint32_t height, const icodec_gif_options *options, uint32_t loops, icodec_error *error) {
    icodec_gif_animator *self = calloc(1, sizeof *self);
    if (self) {
        self->width = width;
        self->height = height;
        self->loops = loops;
        self->pending = malloc((size_t)width * height * 4);
        if (icodec_gif_writer_create(&self->writer, width, height, options) && self->pending) return self;
    }
    icodec_gif_animator_destroy(self);
    icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    return NULL;
}

void icodec_gif_animator_destroy(icodec_gif_animator *self) {
    if (!self) return;
    free(self->canvas);
    free(self->pending);
    free(self->next);
    icodec_gif_writer_destroy(&self->writer);
    free(self);
}

static void include(area *area, uint32_t column, uint32_t row) {
    if (column < area->left) area->left = column;
    if (column >= area->right) area->right = column + 1;
    if (row < area->top) area->top = row;
    if (row >= area->bottom) area->bottom = row + 1;
}

/// Extends an area by the pixels of `after` that differ from `before`: all differing pixels, or only those that became transparent.
static bool compare(
    const icodec_gif_animator *self, const uint8_t *before, const uint8_t *after, bool only_holes, area *area,
    const icodec_watch *watch, icodec_error *error) {
    uint32_t between = icodec_watch_step / self->width + 1;
    for (uint32_t row = 0; row < self->height; row++) {
        if (row % between == 0 && !icodec_watch_allows(watch, error)) return false;
        size_t offset = (size_t)row * self->width * 4;
        if (memcmp(before + offset, after + offset, (size_t)self->width * 4) == 0) continue;
        for (uint32_t column = 0; column < self->width; column++, offset += 4)
            if (memcmp(before + offset, after + offset, 4) != 0 && !(only_holes && after[offset + 3]))
                include(area, column, row);
    }
    return true;
}

/// Appends a frame: the pixels of an area that differ from the canvas.
static bool put(
    icodec_gif_animator *self, const uint8_t *canvas, area area, gif_control *frame, const icodec_watch *watch,
    icodec_error *error) {
    static const uint8_t header[gif_header_size];
    gif_output *output = &self->writer.output;
    if (!self->written && !icodec_gif_put(output, header, sizeof header)) return icodec_gif_overflow(output, error);
    // A frame has a pixel, even if it changes none.
    if (area.left >= area.right) area = (struct area){0, 0, 1, 1};
    self->written++;
    gif_part part = {.pixels = self->pending, .canvas = canvas, .stride = (size_t)self->width * 4};
    part.left = area.left;
    part.top = area.top;
    part.width = area.right - area.left;
    part.height = area.bottom - area.top;
    return icodec_gif_put_frame(&self->writer, &part, frame, watch, error);
}

/// Takes the time of the pending frame in hundredths of a second. It is at least 2, because browsers show shorter frames for 10. A rounding
/// error is carried over to the next frame.
static uint64_t take_time(icodec_gif_animator *self) {
    int64_t milliseconds = (int64_t)self->milliseconds + self->rest;
    int64_t hundredths = milliseconds < 20 ? 2 : (milliseconds + 5) / 10;
    self->rest = milliseconds < 20 ? 0 : milliseconds - hundredths * 10;
    return (uint64_t)hundredths;
}

static void clear(const icodec_gif_animator *self, uint8_t *pixels, const area *area) {
    for (uint32_t row = area->top; row < area->bottom; row++)
        memset(pixels + ((size_t)row * self->width + area->left) * 4, 0, (size_t)(area->right - area->left) * 4);
}

/// Writes the pending frame. If pixels of it become transparent afterwards, it covers them, so that what it covers can be cleared.
///
/// - Parameter next: The frame after it; NULL: it is the last.
static bool write_pending(
    icodec_gif_animator *self, const uint8_t *next, const icodec_watch *watch, icodec_error *error) {
    area drawn = {0, 0, self->width, self->height}, holes = nothing;
    if (self->written) {
        drawn = nothing;
        if (!compare(self, self->canvas, self->pending, false, &drawn, watch, error)) return false;
    }
    if (next && !compare(self, self->pending, next, true, &holes, watch, error)) return false;
    gif_control frame = {.is_animated = next || self->written};
    const uint8_t *canvas = self->canvas;
    for (uint64_t left = take_time(self); left; drawn = nothing, canvas = self->pending) {
        // The greatest duration of a frame is 65535. A longer one is split into several frames, of which the last one is not too short.
        frame.delay = left > UINT16_MAX ? 60000 : (uint32_t)left;
        left -= frame.delay;
        if (!left && holes.left < holes.right) {
            frame.is_cleared = true;
            include(&drawn, holes.left, holes.top);
            include(&drawn, holes.right - 1, holes.bottom - 1);
        }
        if (!put(self, canvas, drawn, &frame, watch, error)) return false;
        if (!frame.is_animated) break;
        if (frame.is_cleared) clear(self, self->pending, &drawn);
    }
    return true;
}

/// Makes alpha 0 or 255.
static bool take(
    const icodec_gif_animator *self, const uint8_t *pixels, size_t stride, uint8_t *to, const icodec_watch *watch,
    icodec_error *error) {
    uint32_t between = icodec_watch_step / self->width + 1;
    for (uint32_t row = 0; row < self->height; row++) {
        if (row % between == 0 && !icodec_watch_allows(watch, error)) return false;
        const uint8_t *from = pixels + row * stride;
        for (uint32_t column = 0; column < self->width; column++, from += 4, to += 4) {
            uint32_t mask = from[3] < 128 ? 0 : 0xFF;
            for (int channel = 0; channel < 3; channel++) to[channel] = (uint8_t)(from[channel] & mask);
            to[3] = (uint8_t)mask;
        }
    }
    return true;
}

bool icodec_gif_animator_add(
    icodec_gif_animator *self, const uint8_t *pixels, size_t stride, uint64_t milliseconds, const icodec_watch *watch,
    icodec_error *error) {
    size_t size = (size_t)self->width * self->height * 4;
    if (!self->has_pending) {
        self->has_pending = true;
        self->milliseconds = milliseconds;
        return take(self, pixels, stride, self->pending, watch, error);
    }
    if (!self->next && !(self->next = malloc(size))) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (!take(self, pixels, stride, self->next, watch, error)) return false;
    area changed = nothing;
    if (!compare(self, self->pending, self->next, false, &changed, watch, error)) return false;
    if (changed.left > changed.right) {
        self->milliseconds += milliseconds;
        return true;
    }
    if (!write_pending(self, self->next, watch, error)) return false;
    uint8_t *spare = self->canvas ? self->canvas : malloc(size);
    if (!spare) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    self->canvas = self->pending;
    self->pending = self->next;
    self->next = spare;
    self->milliseconds = milliseconds;
    return true;
}

bool icodec_gif_animator_finish(
    icodec_gif_animator *self, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error) {
    static const uint8_t trailer = 0x3B;
    if (!write_pending(self, NULL, watch, error)) return false;
    gif_output *output = &self->writer.output;
    if (!icodec_gif_put(output, &trailer, 1)) return icodec_gif_overflow(output, error);
    // Its table, which has grown with the frames, may be smaller than the room that was left for it.
    uint8_t header[gif_header_size];
    size_t size = icodec_gif_header(
        header, self->width, self->height, self->writer.palettes.global, self->written > 1, self->loops);
    icodec_bytes *file = &output->bytes;
    memmove(file->bytes + size, file->bytes + sizeof header, file->count - sizeof header);
    memcpy(file->bytes, header, size);
    *bytes = file->bytes;
    *count = file->count - (sizeof header - size);
    *file = (icodec_bytes){NULL, 0, 0};
    return true;
}
