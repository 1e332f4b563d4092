#ifndef ICODEC_LIBWEBP_CALLS_H
#define ICODEC_LIBWEBP_CALLS_H

#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include "libraries.h"

// The functions of libwebp, libwebpdemux and libwebpmux in use, called by pointers that are set when the libraries are opened.

#define ICODEC_WEBP_CALLS(CALL) \
    CALL(WebPConfigInitInternal) CALL(WebPEncode) CALL(WebPFree) CALL(WebPGetFeaturesInternal) CALL(WebPIDecode) CALL(WebPIDelete) \
    CALL(WebPIUpdate) CALL(WebPInitDecoderConfigInternal) \
    CALL(WebPPictureFree) CALL(WebPPictureImportRGBA) CALL(WebPPictureImportRGBX) CALL(WebPPictureInitInternal) \
    CALL(WebPValidateConfig)

typedef struct {
    ICODEC_WEBP_CALLS(ICODEC_MEMBER)
} icodec_webp_calls;

extern icodec_webp_calls icodec_libwebp;

#define ICODEC_WEBPDEMUX_CALLS(CALL) \
    CALL(WebPAnimDecoderDelete) CALL(WebPAnimDecoderGetNext) CALL(WebPAnimDecoderHasMoreFrames) \
    CALL(WebPAnimDecoderNewInternal) CALL(WebPAnimDecoderOptionsInitInternal) \
    CALL(WebPDemuxDelete) CALL(WebPDemuxGetChunk) CALL(WebPDemuxGetFrame) CALL(WebPDemuxGetI) \
    CALL(WebPDemuxInternal) CALL(WebPDemuxNextFrame) CALL(WebPDemuxReleaseChunkIterator) CALL(WebPDemuxReleaseIterator)

typedef struct {
    ICODEC_WEBPDEMUX_CALLS(ICODEC_MEMBER)
} icodec_webpdemux_calls;

extern icodec_webpdemux_calls icodec_libwebpdemux;

#define ICODEC_WEBPMUX_CALLS(CALL) \
    CALL(WebPAnimEncoderAdd) CALL(WebPAnimEncoderAssemble) CALL(WebPAnimEncoderDelete) CALL(WebPAnimEncoderGetError) \
    CALL(WebPAnimEncoderNewInternal) CALL(WebPAnimEncoderOptionsInitInternal)

typedef struct {
    ICODEC_WEBPMUX_CALLS(ICODEC_MEMBER)
} icodec_webpmux_calls;

extern icodec_webpmux_calls icodec_libwebpmux;

/// libwebp and libwebpdemux.
bool icodec_open_libwebp(icodec_error *error);

/// libwebp and libwebpmux.
bool icodec_open_libwebpmux(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define WebPConfigInitInternal icodec_libwebp.WebPConfigInitInternal
#define WebPEncode icodec_libwebp.WebPEncode
#define WebPFree icodec_libwebp.WebPFree
#define WebPGetFeaturesInternal icodec_libwebp.WebPGetFeaturesInternal
#define WebPIDecode icodec_libwebp.WebPIDecode
#define WebPIDelete icodec_libwebp.WebPIDelete
#define WebPIUpdate icodec_libwebp.WebPIUpdate
#define WebPInitDecoderConfigInternal icodec_libwebp.WebPInitDecoderConfigInternal
#define WebPPictureFree icodec_libwebp.WebPPictureFree
#define WebPPictureImportRGBA icodec_libwebp.WebPPictureImportRGBA
#define WebPPictureImportRGBX icodec_libwebp.WebPPictureImportRGBX
#define WebPPictureInitInternal icodec_libwebp.WebPPictureInitInternal
#define WebPValidateConfig icodec_libwebp.WebPValidateConfig
#endif
#ifndef ICODEC_LOADS_LIBRARIES
#define WebPAnimDecoderDelete icodec_libwebpdemux.WebPAnimDecoderDelete
#define WebPAnimDecoderGetNext icodec_libwebpdemux.WebPAnimDecoderGetNext
#define WebPAnimDecoderHasMoreFrames icodec_libwebpdemux.WebPAnimDecoderHasMoreFrames
#define WebPAnimDecoderNewInternal icodec_libwebpdemux.WebPAnimDecoderNewInternal
#define WebPAnimDecoderOptionsInitInternal icodec_libwebpdemux.WebPAnimDecoderOptionsInitInternal
#define WebPDemuxDelete icodec_libwebpdemux.WebPDemuxDelete
#define WebPDemuxGetChunk icodec_libwebpdemux.WebPDemuxGetChunk
#define WebPDemuxGetFrame icodec_libwebpdemux.WebPDemuxGetFrame
#define WebPDemuxGetI icodec_libwebpdemux.WebPDemuxGetI
#define WebPDemuxInternal icodec_libwebpdemux.WebPDemuxInternal
#define WebPDemuxNextFrame icodec_libwebpdemux.WebPDemuxNextFrame
#define WebPDemuxReleaseChunkIterator icodec_libwebpdemux.WebPDemuxReleaseChunkIterator
#define WebPDemuxReleaseIterator icodec_libwebpdemux.WebPDemuxReleaseIterator
#endif
#ifndef ICODEC_LOADS_LIBRARIES
#define WebPAnimEncoderAdd icodec_libwebpmux.WebPAnimEncoderAdd
#define WebPAnimEncoderAssemble icodec_libwebpmux.WebPAnimEncoderAssemble
#define WebPAnimEncoderDelete icodec_libwebpmux.WebPAnimEncoderDelete
#define WebPAnimEncoderGetError icodec_libwebpmux.WebPAnimEncoderGetError
#define WebPAnimEncoderNewInternal icodec_libwebpmux.WebPAnimEncoderNewInternal
#define WebPAnimEncoderOptionsInitInternal icodec_libwebpmux.WebPAnimEncoderOptionsInitInternal
#endif

#endif
