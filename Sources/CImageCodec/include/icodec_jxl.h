#ifndef ICODEC_JXL_H
#define ICODEC_JXL_H

#include "icodec_common.h"

typedef struct icodec_jxl icodec_jxl;

/// Opens a JPEG XL, a codestream or a container, and reads its header. `bytes` are in use until it is closed. Outside of worker processes it is
/// ICODEC_UNAVAILABLE (icodec_allow_worker_formats), because a call of libjxl has no limit on its memory and time.
icodec_jxl *icodec_jxl_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

/// The size is that of the upright image.
void icodec_jxl_describe(const icodec_jxl *jxl, icodec_description *description);

void icodec_jxl_set_watch(icodec_jxl *jxl, const icodec_watch *watch);

/// Decodes the image, or the first one of an animation.
bool icodec_jxl_start(icodec_jxl *jxl, icodec_error *error);

/// Copies the next rows as R, G, B, A.
bool icodec_jxl_rows(icodec_jxl *jxl, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_jxl_close(icodec_jxl *jxl);

#endif
