#ifndef ICODEC_HEIF_HEVC_H
#define ICODEC_HEIF_HEVC_H

#include "icodec_common.h"
#include "internal.h"

/// The image that this thread decodes: what libheif's calls of a decoder cannot say.
typedef struct {
    const icodec_watch *watch;
    uint64_t pixels; // of the largest picture that memory was counted for
    uint32_t chroma; // its largest chroma_format_idc
    uint32_t met; // the largest one of the pictures that were decoded
    icodec_error error; // why a picture was refused; code 0 if none was
} icodec_hevc_work;

/// Registers a decoder of HEVC with libheif that runs in the calling thread: libheif's own starts one, which a confined process may not.
bool icodec_register_hevc(icodec_error *error);

/// Sets the image of this thread; NULL: none.
void icodec_hevc_begin(icodec_hevc_work *work);

#endif
