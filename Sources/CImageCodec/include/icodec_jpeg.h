#ifndef ICODEC_JPEG_H
#define ICODEC_JPEG_H

#include "icodec_common.h"

typedef struct icodec_jpeg icodec_jpeg;

/// Reads the header. The source's bytes must stay until `icodec_jpeg_close`.
icodec_jpeg *icodec_jpeg_open(const icodec_source *source, const icodec_limits *limits, icodec_error *error);

void icodec_jpeg_describe(const icodec_jpeg *jpeg, icodec_description *description);

/// One Huffman table: the number of codes of each length from 1 to 16, and the symbols in the order of their codes.
typedef struct {
    uint8_t counts[16];
    uint8_t symbols[256];
} icodec_jpeg_code;

typedef struct {
    uint8_t across, down; // sampling factors
    uint8_t dc, ac; // numbers of its tables
    uint8_t quantizers[64]; // in the order of the file
} icodec_jpeg_component;

/// The only scan of a baseline JPEG, for a decoder besides libjpeg's.
typedef struct {
    uint32_t width, height;
    uint32_t components; // 1: gray; 3: Y, Cb, Cr
    icodec_jpeg_component component[3];
    icodec_jpeg_code dc[2], ac[2]; // no codes: not in the file
    uint32_t interval; // MCUs between restart markers; 0: none
    uint64_t offset; // of the data, from the start of the file
} icodec_jpeg_scan;

/// Describes the scan; false for any other file than one with a Huffman-coded, sequential scan of 8 bits, gray or YCbCr.
bool icodec_jpeg_describe_scan(const icodec_jpeg *jpeg, icodec_jpeg_scan *scan);

/// Reads bytes of the file without moving libjpeg's position: 0 at the end, -1 on failure.
ptrdiff_t icodec_jpeg_peek(const icodec_jpeg *jpeg, uint64_t position, uint8_t *into, size_t count);

/// Sets the watch of the following calls; until then it is the limits' watch.
void icodec_jpeg_set_watch(icodec_jpeg *jpeg, const icodec_watch *watch);

/// Starts decoding at `eighths`/8 of the size (1 ... 8). With `raw_cmyk` rows are C, M, Y, K with 255 for full ink, else
/// R, G, B, 255.
bool icodec_jpeg_start(
    icodec_jpeg *jpeg, int eighths, bool raw_cmyk, uint32_t *width, uint32_t *height, icodec_error *error);

/// Reads the next rows, 4 bytes a pixel; fewer than `count` only at the end of the image.
bool icodec_jpeg_rows(icodec_jpeg *jpeg, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

/// Checks the data after the last row: remaining data indicate damage. (Missing data do not.)
bool icodec_jpeg_finish(icodec_jpeg *jpeg, icodec_error *error);

/// The first tolerated defect, code 0 for none: damaged data, and with `allow_truncated` missing ones.
icodec_error icodec_jpeg_damage(const icodec_jpeg *jpeg);

void icodec_jpeg_close(icodec_jpeg *jpeg);

// A progressive JPEG while it arrives.

typedef struct icodec_jpeg_preview icodec_jpeg_preview;

icodec_jpeg_preview *icodec_jpeg_preview_create(const icodec_limits *limits, icodec_error *error);

/// Appends bytes and consumes the complete parts. `has_header` is set once the size is known. `icodec_jpeg_preview_start` must then be
/// called; no scan is read before. `scans` is the number of complete scans.
bool icodec_jpeg_preview_append(
    icodec_jpeg_preview *preview, const uint8_t *bytes, size_t count, bool *has_header, uint32_t *scans,
    icodec_error *error);

void icodec_jpeg_preview_describe(const icodec_jpeg_preview *preview, icodec_description *description);

/// Sets the scale (1 ... 8 eighths) and gives the size of the images.
bool icodec_jpeg_preview_start(
    icodec_jpeg_preview *preview, int eighths, bool raw_cmyk, uint32_t *width, uint32_t *height, icodec_error *error);

/// Starts an image of the complete scans; its rows are read by `icodec_jpeg_preview_rows`, all of them, before more is appended.
bool icodec_jpeg_preview_begin(icodec_jpeg_preview *preview, icodec_error *error);

bool icodec_jpeg_preview_rows(
    icodec_jpeg_preview *preview, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_jpeg_preview_destroy(icodec_jpeg_preview *preview);

// Encoding.

enum { ICODEC_SAMPLING_420, ICODEC_SAMPLING_422, ICODEC_SAMPLING_444 };

typedef struct {
    int quality; // 1 ... 100
    int sampling;
    bool progressive, gray;
    bool optimized; // Huffman tables made for the image, whose coefficients are held for it; else those of the standard
    uint64_t memory; // bytes that the encoder and the file may take
    const uint8_t *icc;
    size_t icc_size;
    const uint8_t *exif; // starts with the TIFF header
    size_t exif_size;
} icodec_jpeg_options;

/// Encodes R, G, B, x rows; `*bytes` is freed by `free`.
bool icodec_jpeg_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, const icodec_jpeg_options *options,
    const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

#endif
