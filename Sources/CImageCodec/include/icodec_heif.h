#ifndef ICODEC_HEIF_H
#define ICODEC_HEIF_H

#include "icodec_common.h"

typedef struct icodec_heif icodec_heif;

/// Opens the primary image of an HEIF with HEVC, and reads its container. `bytes` are in use until it is closed. Thumbnails, depth maps and the
/// other images of a burst are not looked at. Outside of worker processes it is ICODEC_UNAVAILABLE (icodec_allow_worker_formats), because libheif
/// has had defects that a file of a stranger could use.
icodec_heif *icodec_heif_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

/// The size is that of the upright image: the container's rotation, mirroring and clean aperture are applied.
void icodec_heif_describe(const icodec_heif *heif, icodec_description *description);

void icodec_heif_set_watch(icodec_heif *heif, const icodec_watch *watch);

/// Decodes the image. The watch is checked before each tile of a grid.
bool icodec_heif_start(icodec_heif *heif, icodec_error *error);

/// Converts the next rows to R, G, B, A.
bool icodec_heif_rows(icodec_heif *heif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_heif_close(icodec_heif *heif);

/// The size and chroma format that a sequence parameter set (ITU-T H.265 section 7.3.2.2) declares; false if it ends before them.
bool icodec_hevc_size(const uint8_t *unit, size_t count, uint64_t *pixels, uint32_t *chroma);

#endif
