#ifndef ICODEC_GIF_WRITE_H
#define ICODEC_GIF_WRITE_H

#include "gif_map.h"
#include "gif_quantize.h"
#include "icodec_gif.h"

/// A file that is written.
typedef struct {
    icodec_bytes bytes;
    uint64_t memory; // bytes that it may take
} gif_output;

/// Appends; false at the limit, and when memory is short.
bool icodec_gif_put(gif_output *output, const uint8_t *bytes, size_t count);

/// The error after that; returns false.
bool icodec_gif_overflow(const gif_output *output, icodec_error *error);

/// Appends the data of a frame's pixels.
///
/// - Parameter bits: Of an index.
bool icodec_gif_pack(
    gif_output *output, const uint8_t *indices, size_t count, uint32_t bits, const icodec_watch *watch,
    icodec_error *error);

typedef struct {
    gif_palette *global; // grows while the colours of frames are few
    gif_palette *local; // the last one that a frame had for itself
    bool is_local_last; // used
    gif_histogram *histogram;
    uint32_t colors; // of a frame at most, the transparent one included
} gif_palettes;

/// False when memory is short; destroyed nevertheless.
bool icodec_gif_palettes_create(gif_palettes *palettes, uint32_t colors);

void icodec_gif_palettes_destroy(gif_palettes *palettes);

/// A frame's palette, and whether that has all colours of the frame's pixels.
typedef struct {
    gif_palette *palette;
    bool is_exact;
} gif_choice;

/// Chooses the palette of a frame, or makes one.
bool icodec_gif_choose(
    gif_palettes *palettes, const gif_part *part, bool is_animated, gif_choice *choice, const icodec_watch *watch,
    icodec_error *error);

typedef struct {
    uint32_t delay; // hundredths of a second
    bool is_animated; // one of several
    bool is_cleared; // before the next one
    bool has_table; // of its own
} gif_control;

/// Appends what stands before a frame's pixels.
bool icodec_gif_put_header(
    gif_output *output, const gif_part *part, const gif_control *frame, const gif_palette *palette,
    icodec_error *error);

enum { gif_header_size = 13 + 768 + 19 };

/// Writes a file's header, with the colour table for frames without one, and returns its size, at most `gif_header_size`.
size_t icodec_gif_header(
    uint8_t *to, uint32_t width, uint32_t height, const gif_palette *palette, bool is_animated, uint32_t loops);

typedef struct {
    uint32_t width, height;
    bool dithers;
    gif_output output;
    gif_output trial; // the pixels of a frame in another way
    gif_palettes palettes;
    uint8_t *indices;
    uint8_t (*shown)[4]; // colours on a reader's canvas; NULL: there are no several frames
} gif_writer;

/// False when memory is short; destroyed nevertheless.
bool icodec_gif_writer_create(gif_writer *writer, uint32_t width, uint32_t height, const icodec_gif_options *options);

void icodec_gif_writer_destroy(gif_writer *writer);

/// Appends a frame: the pixels of an area that differ from the canvas.
bool icodec_gif_put_frame(
    gif_writer *writer, const gif_part *part, gif_control *frame, const icodec_watch *watch, icodec_error *error);

#endif
