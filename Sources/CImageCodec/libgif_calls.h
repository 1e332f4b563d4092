#ifndef ICODEC_LIBGIF_CALLS_H
#define ICODEC_LIBGIF_CALLS_H

#include <gif_lib.h>

#include "libraries.h"

// The functions of giflib in use, called by pointers that are set when the library is opened.

#define ICODEC_GIF_CALLS(CALL) \
    CALL(DGifCloseFile) CALL(DGifExtensionToGCB) CALL(DGifGetCode) CALL(DGifGetCodeNext) CALL(DGifGetExtension) \
    CALL(DGifGetExtensionNext) CALL(DGifGetImageHeader) CALL(DGifGetRecordType) CALL(DGifOpen) CALL(GifErrorString)

typedef struct {
    ICODEC_GIF_CALLS(ICODEC_MEMBER)
} icodec_gif_calls;

extern icodec_gif_calls icodec_libgif;

bool icodec_open_libgif(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define DGifCloseFile icodec_libgif.DGifCloseFile
#define DGifExtensionToGCB icodec_libgif.DGifExtensionToGCB
#define DGifGetCode icodec_libgif.DGifGetCode
#define DGifGetCodeNext icodec_libgif.DGifGetCodeNext
#define DGifGetExtension icodec_libgif.DGifGetExtension
#define DGifGetExtensionNext icodec_libgif.DGifGetExtensionNext
#define DGifGetImageHeader icodec_libgif.DGifGetImageHeader
#define DGifGetRecordType icodec_libgif.DGifGetRecordType
#define DGifOpen icodec_libgif.DGifOpen
#define GifErrorString icodec_libgif.GifErrorString
#endif

#endif
