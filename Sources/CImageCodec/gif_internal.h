#ifndef ICODEC_GIF_INTERNAL_H
#define ICODEC_GIF_INTERNAL_H

#include "gif_lzw.h"
#include "icodec_gif.h"
#include "internal.h"
#include "libgif_calls.h"

/// The frame whose header was read last.
typedef struct {
    uint32_t left, top, width, height;
    bool is_interlaced;
    bool is_transparent; // some index is
    int disposal;
    uint32_t delay; // hundredths of a second
    uint8_t colors[256][4]; // R, G, B, A
} gif_frame;

struct icodec_gif {
    icodec_source source;
    icodec_limits limits;
    icodec_watch watch;
    uint8_t window[1 << 14]; // a part of the source
    size_t window_count, window_used;
    uint64_t window_end; // the position in the source
    bool has_ended, has_failed; // the source
    icodec_work work; // records: extensions and frames
    uint64_t blocks; // of data
    GifFileType *file;
    uint32_t width, height; // of the canvas
    uint32_t loops; // times that the animation is shown, 0: for ever
    gif_frame frame;
    uint8_t *indices; // of all rows of an interlaced frame that is delivered by rows
    uint8_t *are_read; // of these rows
    uint32_t row; // of the canvas
    uint32_t next; // row of the frame, in the order of the file
    uint8_t *saved; // the canvas as it was before the frame
    bool is_restored; // to what is saved, after the frame
    bool is_opaque; // every pixel of the canvas
    bool was_opaque; // before the frame
    uint32_t drawn; // frames
    icodec_lzw *lzw; // of the frame
    uint8_t *decoded; // indices: the row that was read last, and what is known of the next one
    const uint8_t *data, *data_end; // what is left of a block
    icodec_error damage;
};

enum { gif_found, gif_end, gif_failed };

/// Reads to the header of the next frame: `gif_end` after the last, also where the file ends or is broken there.
int icodec_gif_next_header(icodec_gif *gif, icodec_error *error);

/// The time for which a frame is shown. One of at most 10 ms is shown for 100 ms, as in browsers.
uint32_t icodec_gif_milliseconds(const gif_frame *frame);

/// Passes over the pixels of the frame whose header was read.
bool icodec_gif_skip_pixels(icodec_gif *gif, icodec_error *error);

/// Notes a defect that the limits allow to pass over; else fails.
bool icodec_gif_pass_over(icodec_gif *gif, icodec_error *error);

/// The position in the frame of the row that is the `number`th in the file.
uint32_t icodec_gif_row_position(const gif_frame *frame, uint32_t number);

/// Draws a row of indices: pixels that are transparent stay as they are.
void icodec_gif_paint(const gif_frame *frame, const uint8_t *indices, uint32_t count, uint8_t *to);

/// Reads one row of the frame: its indices, valid until the next call, or NULL with the defect in the error.
const uint8_t *icodec_gif_read_row(icodec_gif *gif, icodec_error *error);

#endif
