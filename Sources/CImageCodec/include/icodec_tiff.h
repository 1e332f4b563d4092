#ifndef ICODEC_TIFF_H
#define ICODEC_TIFF_H

#include "icodec_common.h"

/// A TIFF. Outside of worker processes it is ICODEC_UNAVAILABLE (icodec_allow_worker_formats), because libtiff has had defects that a file of a
/// stranger could use.
typedef struct icodec_tiff icodec_tiff;

/// The first directory of a file, as far as it bounds the work of libtiff.
typedef struct {
    icodec_work work; // entries and the bytes of their values
    uint32_t width, height;
} icodec_tiff_directory;

/// Reads the entries of the first directory, and checks the size and the number of them before libtiff reads their values.
bool icodec_tiff_scan(
    const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_tiff_directory *directory, icodec_error *error);

/// Opens the first image of a TIFF. `bytes` are in use until it is closed.
icodec_tiff *icodec_tiff_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

/// The size is that of the stored image, `*orientation` how it is to be turned: 1 ... 8 as in Exif.
void icodec_tiff_describe(const icodec_tiff *tiff, icodec_description *description, int *orientation);

void icodec_tiff_set_watch(icodec_tiff *tiff, const icodec_watch *watch);

/// Allocates what decoding needs.
bool icodec_tiff_start(icodec_tiff *tiff, icodec_error *error);

/// Reads the next rows as R, G, B, A. The watch is checked between rows, strips and tiles.
bool icodec_tiff_rows(icodec_tiff *tiff, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_tiff_close(icodec_tiff *tiff);

#endif
