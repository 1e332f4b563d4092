#ifndef ICODEC_AVIF_H
#define ICODEC_AVIF_H

#include "icodec_common.h"

typedef struct icodec_avif icodec_avif;

/// The limits of an AVIF. A photo of 100 megapixels in cells of 512 x 512 has 400 items and as many references, and as many again for its
/// alpha. Each item has up to eight properties, which items of one kind share. MIAF (ISO/IEC 23000-22, section 7.3.11.4.2) requires cells
/// of at least 64 x 64 pixels.
enum {
    icodec_avif_most_items = 4096, // and references between them
    icodec_avif_most_extents = 16384,
    icodec_avif_most_properties = 16384,
    icodec_avif_most_associations = 65536,
    icodec_avif_most_exifs = 16,
    icodec_avif_most_tracks = 16,
    icodec_avif_least_side = 64,
};

/// The boxes of an AVIF: how much there is of what libavif spends time or memory on.
typedef struct {
    icodec_work work; // all boxes
    uint64_t items, locations, extents, references, properties, associated, associations, exifs; // in all tables of items
    uint64_t tracks, runs, entries; // of frames
    uint64_t merged; // bytes of items in several parts, which are copied
    uint64_t cells, own_cells; // images that grids are put together of; those of the image itself
    uint64_t largest_cell; // pixels, as they are decoded; 0: none has a size
    uint32_t smallest_side; // of its own cells; UINT32_MAX: none has a size
    bool prefers_items; // to a track, by its brand
    bool is_turned; // the image, by one or three quarters
    uint32_t chroma; // the largest chroma_format_idc of HEVC in an HEIF, which has the same boxes
} icodec_avif_boxes;

/// Counts the boxes of an AVIF before it is parsed, in a time that its limits bound, too.
bool icodec_avif_scan(const uint8_t *bytes, size_t count, icodec_avif_boxes *boxes, icodec_error *error);

/// Opens an AVIF, an image or a sequence, and reads its container. `bytes` are in use until it is closed.
icodec_avif *icodec_avif_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

/// The size is that of the clean aperture. The orientation by which the image must be rotated is an Exif value.
void icodec_avif_describe(const icodec_avif *avif, icodec_description *description, int32_t *orientation);

void icodec_avif_set_watch(icodec_avif *avif, const icodec_watch *watch);

/// Decodes the image, or a frame of a sequence, counted from 0, with those before it. libavif cannot be interrupted: the watch is checked
/// before and after each.
bool icodec_avif_start(icodec_avif *avif, uint32_t frame, icodec_error *error);

/// Converts the next rows to R, G, B, A.
bool icodec_avif_rows(icodec_avif *avif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_avif_close(icodec_avif *avif);

typedef struct {
    int quality; // 0 ... 100
    int speed; // 0 ... 10
    uint64_t memory; // bytes that the file may take
    const uint8_t *icc; // NULL: sRGB
    size_t icc_size;
    const uint8_t *exif;
    size_t exif_size;
} icodec_avif_options;

/// Encodes R, G, B, A rows; `*bytes` is freed by `free`. The watch is checked before and afterwards.
bool icodec_avif_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_avif_options *options, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

#endif
