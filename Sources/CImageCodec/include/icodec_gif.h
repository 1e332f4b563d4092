#ifndef ICODEC_GIF_H
#define ICODEC_GIF_H

#include "icodec_common.h"

typedef struct icodec_gif icodec_gif;

/// Opens a GIF and reads it as far as the header of its first frame. The canvas holds the logical screen and the first frame, as in
/// browsers.
icodec_gif *icodec_gif_open(const icodec_source *source, const icodec_limits *limits, icodec_error *error);

void icodec_gif_describe(const icodec_gif *gif, icodec_description *description);

/// The watch is checked between rows, and between blocks that are skipped.
void icodec_gif_set_watch(icodec_gif *gif, const icodec_watch *watch);

/// Counts the frames whose headers can be read, and their time, in a description of the GIF. Reads the rest of the file without decoding:
/// the GIF may only be closed afterwards.
bool icodec_gif_count(icodec_gif *gif, icodec_description *description, icodec_error *error);

/// Reads up to `count` rows of the canvas with the first frame alone: R, G, B, A, transparent outside the frame. Fewer rows are
/// delivered from damaged data, if the limits allow that.
bool icodec_gif_rows(icodec_gif *gif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

typedef struct {
    bool is_there; // false after the last one
    bool is_opaque; // no pixel of the canvas is transparent; false: some may be
    uint32_t milliseconds;
} icodec_gif_shown;

/// Draws the next frame on a canvas of zeros, then on what the previous call has left there. A frame with a defect that the limits
/// allow is the last.
bool icodec_gif_draw_next(icodec_gif *gif, uint8_t *canvas, icodec_gif_shown *shown, icodec_error *error);

/// The first defect of an image that is shown in part; the code is 0 if there is none.
icodec_error icodec_gif_damage(const icodec_gif *gif);

void icodec_gif_close(icodec_gif *gif);

typedef struct {
    uint32_t colors; // of a frame at most, the transparent one included: 2 ... 256
    bool dithers;
    uint64_t memory; // bytes that the file may take
} icodec_gif_options;

typedef struct icodec_gif_animator icodec_gif_animator;

/// Begins a file of one or more frames of one size, of at most 65535 pixels a side.
///
/// - Parameter loops: Times that the animation is shown; 0: for ever.
icodec_gif_animator *icodec_gif_animator_create(
    uint32_t width, uint32_t height, const icodec_gif_options *options, uint32_t loops, icodec_error *error);

/// Adds the next frame, R, G, B, A rows: transparent where alpha is below 128. It is written when the one after it is known; time for
/// which nothing changes goes to the frame before.
bool icodec_gif_animator_add(
    icodec_gif_animator *animator, const uint8_t *pixels, size_t stride, uint64_t milliseconds,
    const icodec_watch *watch, icodec_error *error);

/// The file; `*bytes` is freed by `free`. The animator may only be destroyed afterwards.
bool icodec_gif_animator_finish(
    icodec_gif_animator *animator, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

void icodec_gif_animator_destroy(icodec_gif_animator *animator);

#endif
